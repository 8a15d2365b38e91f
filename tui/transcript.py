"""The scrolling list of messages: a window on the session that moves with what is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual.containers import VerticalScroll
from textual.geometry import Region, Size
from textual.layout import DockArrangeResult
from textual.message import Message
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from localmem.tui.reading import Entry
from localmem.tui.views import Answer, Reply, Said, view_of

AHEAD = 1.5
"""Screens that are mounted above and below what is seen, as far as there is so much."""
KEPT = 2.5
"""Screens above and below past which messages are unmounted: the more are, the longer a layout takes."""

View = Said | Answer | Reply


class Transcript(VerticalScroll, can_focus=False):
    """Messages of the session that is open. It stays at the end until the person scrolls up."""

    class MoreWanted(Message):
        """An end of what is mounted is near."""

        def __init__(self, *, older: bool) -> None:
            self.older = older
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self.first = 0
        """Place in the session of the first message that is mounted."""
        self.total = 0
        """Messages that the session has."""
        self.waiting = False
        """Whether more of the session was asked for and is not drawn yet."""
        self._at_end = True
        self._goal: tuple[View, int] | None = None  # to be shown so many lines below the top
        self._arranged: DockArrangeResult | None = None
        self._regions: Mapping[Widget, Region] = {}

    @property
    def views(self) -> list[View]:
        """The messages that are mounted, in order."""
        return [child for child in self.children if isinstance(child, Said | Answer | Reply)]

    @property
    def end(self) -> int:
        """Place behind the last message that is mounted."""
        return self.first + len(self.views)

    @property
    def reading(self) -> tuple[int, int]:
        """Place of the first message that is on the screen, and how many of its lines are above it."""
        for place, view in enumerate(self.views, self.first):
            region = self._regions.get(view)
            if region is not None and region.bottom > self.scroll_y:
                return place, round(self.scroll_y) - region.y
        return self.end, 0

    async def begin(self, entries: Sequence[Entry] = (), first: int = 0, total: int = 0) -> None:
        """Show part of a session, at its end: ``entries``, whose first has place ``first`` of ``total``."""
        with self.app.batch_update():
            await self._unmount(list(self.children))
            self.first, self.total, self.waiting = first, total, False
            self._at_end, self._goal = True, None
            await self.mount_all(map(view_of, entries))

    async def add(self, widget: Widget) -> None:
        """Show one more thing at the end."""
        self._at_end = True
        with self.app.batch_update():
            await self.mount(widget)
            self.total = max(self.total, self.end)
            await self._let_go(older=True)

    async def cut(self, place: int) -> None:
        """Take away the message at this place of the session and all that follows it."""
        views = self.views[place - self.first :]
        if views:
            children = list(self.children)
            await self._unmount(children[children.index(views[0]) :])
        self.total = place

    def focus_message(self, message_id: int) -> None:
        """Go to a message that is mounted, and show what is around it."""
        for view in self.views:
            if view.message is not None and view.message.id == message_id:
                view.focus(scroll_visible=False)
                self._at_end = False
                self._goal = (view, self.size.height // 3)
                self._arranged = None
                self.refresh(layout=True)

    async def extend(self, entries: Sequence[Entry], place: int, *, older: bool) -> None:
        """Show more of the session, from or up to ``place``; what is seen stays where it is."""
        if place == (self.first if older else self.end):  # else something was said meanwhile, or taken away
            with self.app.batch_update():
                await self._let_go(older=not older)
                views = list(map(view_of, entries))
                if older:
                    self.first -= len(entries)
                    await self.mount_all(views, before=0)
                else:
                    self._at_end = False  # the end of what was mounted is not the end
                    await self.mount_all(views, after=self.views[-1] if self.views else None)
        self.call_after_refresh(self._extended)

    def _extended(self) -> None:
        self.waiting = False
        self._look_ahead()

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Lay the messages out; what is read does not move with what comes or goes above it."""
        arranged = super().arrange(size, optimal)
        if arranged is not self._arranged:
            regions = {placement.widget: placement.region for placement in arranged.placements}
            lowest = max(arranged.total_region.bottom - size.height, 0)
            y = lowest if self._at_end else min(max(self._place_in(regions), 0), lowest)
            self._arranged, self._regions = arranged, regions
            # Without their watchers, which would ask for another layout: this one is being made for y.
            self.set_scroll(None, y)
            self.set_reactive(Widget.scroll_target_y, y)
            self.vertical_scrollbar.set_reactive(ScrollBar.position, y)
            self.call_after_refresh(self._look_ahead)
        return arranged

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> None:
        """Scroll at once: a place that was computed now is another one after the next layout."""
        super().scroll_to(x, y, **{**options, "animate": False, "immediate": True})

    def watch_scroll_y(self, before: float, now: float) -> None:
        """The person scrolled."""
        super().watch_scroll_y(before, now)
        self._at_end = now >= self.max_scroll_y and self.end >= self.total
        self.call_after_refresh(self._look_ahead)

    def _place_in(self, regions: Mapping[Widget, Region]) -> float:
        """Where to scroll to in a new layout, so that what is read stays where it is on the screen."""
        if self._goal is not None and self._goal[0] in regions:
            view, lines = self._goal
            self._goal = None
            return regions[view].y - lines
        for widget, region in self._regions.items():
            if region.bottom > self.scroll_y and widget in regions:
                return self.scroll_y + regions[widget].y - region.y
        return self.scroll_y

    def _look_ahead(self) -> None:
        """Ask for more when an end of what is mounted is near."""
        if self.waiting or not self.is_attached:
            return
        above, below = self.scroll_y, self.max_scroll_y - self.scroll_y
        near = AHEAD * self.size.height
        older = above < near and self.first > 0
        newer = below < near and self.end < self.total
        if older or newer:
            self.waiting = True
            self.post_message(self.MoreWanted(older=older and (above <= below or not newer)))

    async def _let_go(self, *, older: bool) -> None:
        """Unmount what is far away at one end; it comes back when it is near again."""
        far = KEPT * self.size.height
        top, bottom = self.scroll_y - far, self.scroll_y + self.size.height + far
        regions, children = self._regions, list(self.children)
        if older:
            gone = [child for child in children if child in regions and regions[child].bottom < top]
            self.first += sum(isinstance(child, View) for child in gone)
        else:
            gone = [child for child in children if child in regions and regions[child].y > bottom]
        if any(child.has_focus_within for child in gone):
            # Keys act on what is on the screen; textual would select the nearest that stays, and go there.
            self.screen.set_focus(self.views[self.reading[0] - self.first], scroll_visible=False)
        await self._unmount(gone)

    async def _unmount(self, children: Sequence[Widget]) -> None:
        parts = [part for child in children for part in child.walk_children(with_self=True)]
        await self.remove_children(children)
        for part in parts:
            part.refresh()  # it forgets what it drew, which a cache of textual would keep (issue 6665 there)
