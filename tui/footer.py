"""The line of keys at the bottom."""

from __future__ import annotations

from textual.screen import Screen
from textual.widgets import Footer


class Keys(Footer):
    """The keys that can be pressed now. They are made anew when they are others, not with every focus."""

    _shown: tuple[tuple[str, str, bool], ...] | None = None

    def bindings_changed(self, screen: Screen[object]) -> None:
        """What has the focus, or what it can do, has changed."""
        if not screen.app.app_focus or screen is not self.screen:
            return
        active = [binding for binding in screen.active_bindings.values() if binding.binding.show]
        shown = tuple((one.binding.key, one.binding.description, one.enabled) for one in active)
        if shown != self._shown:
            self._shown = shown
            super().bindings_changed(screen)
