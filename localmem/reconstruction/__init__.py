"""Evidence reconstruction (BFR): compose a small set that covers a question, then complete it under a budget.

:func:`localmem.reconstruction.reconstruct.reconstruct` runs both stages. Messages are named by their row in
the view that one question works on (:class:`localmem.reconstruction.records.Records`).
"""
