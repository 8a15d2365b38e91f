"""English verb forms, as far as putting "I" into the third person needs them."""

from __future__ import annotations

_IRREGULAR_PAST = (
    "ate became began bent bit blew bought broke brought built burnt came caught chose crept cut dealt "
    "did drank dreamt drew drove dug fed fell felt flew fled forgave forgot fought found froze gave got "
    "grew had heard held hid hit hung hurt kept knew laid learnt led left lent let lit lost made meant "
    "met paid put quit ran rang read rode rose said sang sat saw sent set shook shot shut slept sold "
    "sought spent spilt spoke stood stole stuck struck swam swore taught thought threw told took tore "
    "understood upset was went were woke won wore wrote"
).split()
_REGULAR_PAST = (
    "adopted applied arrived asked attended baked booked called celebrated changed checked cleaned "
    "completed cooked decided enjoyed finished graduated helped hiked hosted invited joined launched "
    "learned liked listened lived looked loved married met missed moved opened ordered painted passed "
    "planned planted played practiced purchased received rented signed started stayed stopped studied "
    "switched talked tested tried turned used visited volunteered walked wanted watched worked"
).split()
PAST = frozenset(_IRREGULAR_PAST + _REGULAR_PAST) - frozenset(
    "cut did had hit hurt let put quit read set shut was were".split()
)
"""Past forms that tell of the speaker even when the subject is left out ("Went to Rome")."""

ADVERBS = frozenset(
    "also always already almost just never now often once only still sometimes soon then too even ever "
    "kinda sorta quite rather seldom usually currently recently not".split()
)
"""What may stand between subject and verb, besides words in -ly."""

_UNCHANGED = frozenset(
    "ain't can can't cannot could couldn't may might must mustn't ought shall should shouldn't will won't "
    "would wouldn't and or but who that with in at on for to as of the a an if when too myself gotta "
    "gonna wanna don doesn recently currently".split()
) | frozenset(_IRREGULAR_PAST)
_BASE_IN_ED = frozenset("bleed breed exceed feed need proceed seed speed succeed weed".split())
_CHANGED = {
    "am": "is", "have": "has", "haven't": "hasn't", "do": "does", "don't": "doesn't", "go": "goes",
}  # fmt: skip


def third_person(verb: str) -> str:
    """The form that follows a name of what followed "I": ``like`` -> ``likes``, ``went`` -> ``went``."""
    verb = verb.replace("’", "'")
    if verb in _CHANGED:
        return _CHANGED[verb]
    past = verb.endswith(("ed", "n't", "ing")) and verb not in _BASE_IN_ED
    if past or verb in _UNCHANGED:
        return verb
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    return verb + "s"
