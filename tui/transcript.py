"""The scrolling list of messages: a window on the session that moves with the scroll bar."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget

from localmem.tui.reading import Entry
from localmem.tui.views import Answer, Reply, Said, view_of

NEAR = 10
"""Lines from an end of what is mounted at which more of the session is asked for."""
MOUNTED = 90
"""Messages that are mounted at most: the more there are, the longer every key takes."""

View = Said | Answer | Reply


class Transcript(VerticalScroll, can_focus=False):
    """Messages of the session that is open. It stays at the end until the person scrolls up."""

    class MoreWanted(Message):
        """The person came near an end of what is mounted."""

        def __init__(self, *, older: bool) -> None:
            self.older = older
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self.first = 0
        """Place in the session of the first message that is mounted."""
        self.total = 0
        """Messages that the session has."""
        self._asked: bool | None = None  # for older ones (True) or newer ones (False); None: not asked
        self._pinned: tuple[View, int] | None = None
        self._moving = False

    @property
    def views(self) -> list[View]:
        """The messages that are mounted, in order."""
        return [child for child in self.children if isinstance(child, Said | Answer | Reply)]

    @property
    def waiting(self) -> bool:
        """Whether more of the session was asked for and is not there yet."""
        return self._asked is not None

    @property
    def end(self) -> int:
        """Place behind the last message that is mounted."""
        return self.first + len(self.views)

    async def begin(self, entries: Sequence[Entry] = (), first: int = 0, total: int = 0) -> None:
        """Show part of a session: ``entries``, whose first has place ``first`` of ``total``."""
        await self.remove_children()
        self.first, self.total, self._asked, self._pinned = first, total, None, None
        self.anchor()
        if entries:
            await self.mount_all(map(view_of, entries))

    async def add(self, widget: Widget) -> None:
        """Show one more thing at the end."""
        self.anchor()
        await self.mount(widget)
        if isinstance(widget, Said | Answer | Reply):
            self.total = max(self.total, self.end)
            await self._let_go(older=True)

    async def cut(self, place: int) -> None:
        """Take away the message at this place of the session and all that follows it."""
        views = self.views[place - self.first :]
        if views:
            children = list(self.children)
            await self.remove_children(children[children.index(views[0]) :])
        self.total = place

    def focus_message(self, message_id: int) -> None:
        """Go to a message that is mounted, and show what is around it."""
        for view in self.views:
            if view.message is not None and view.message.id == message_id:
                self.release_anchor()
                view.focus(scroll_visible=False)
                self._pinned = (view, self.size.height // 3)
                self.call_after_refresh(self._hold)

    async def extend(self, entries: Sequence[Entry], *, older: bool) -> None:
        """Show more of the session above or below what is there; what is seen stays where it is."""
        self._asked = None
        if not entries:
            return
        views = list(map(view_of, entries))
        if older:
            self._pin()
            self.first -= len(entries)
            await self.mount_all(views, before=0)
        else:
            self.release_anchor()  # the end of what was mounted is not the end
            self._pin()
            await self.mount_all(views, after=self.views[-1] if self.views else None)
        await self._let_go(older=not older)
        # What came may be as high as what went: then the height has not changed, and nobody says so.
        self.call_after_refresh(self._hold)

    async def _let_go(self, *, older: bool) -> None:
        """Unmount what is too much at one end; it comes back when it is scrolled to."""
        views = self.views
        extra = len(views) - MOUNTED
        if extra <= 0:
            return
        if older:
            if self._pinned is None:
                self._pin(views[extra:])
            self.first += extra
            await self.remove_children(views[:extra])
        else:
            await self.remove_children(views[-extra:])

    def _pin(self, stay: Sequence[View] | None = None) -> None:
        """Remember what is read, and where on the screen: it must not move with what is above it."""
        if self.scroll_y >= self.max_scroll_y - 1 and self.end >= self.total:
            return  # at the end it stays at the end
        for view in self.views if stay is None else stay:
            region = view.virtual_region
            if region.bottom > self.scroll_y:
                self._pinned = (view, region.y - round(self.scroll_y))
                return

    def _hold(self) -> None:
        """Put what is pinned back to its place."""
        if self._pinned is None:
            return
        view, place = self._pinned
        if view.parent is not self:
            self._pinned = None
            return
        self._moving = True
        self.scroll_to(y=max(view.virtual_region.y - place, 0), animate=False, force=True, immediate=True)
        self._moving = False

    def watch_virtual_size(self) -> None:
        """What is mounted finds its height bit by bit: a Markdown text is many widgets."""
        self._hold()

    def watch_scroll_y(self, before: float, now: float) -> None:
        """Ask for more near an end."""
        super().watch_scroll_y(before, now)
        if not self._moving and round(before) != round(now):
            self._pinned = None
        if self._asked is not None or not self.is_attached:
            return
        if now < before and now < NEAR and self.first > 0:
            self._ask(older=True)
        elif now > before and now > self.max_scroll_y - NEAR and self.end < self.total:
            self._ask(older=False)

    def _ask(self, *, older: bool) -> None:
        self._asked = older
        self.post_message(self.MoreWanted(older=older))
