"""The chat's colours."""

from __future__ import annotations

from dataclasses import replace

from textual.theme import Theme

DARK = Theme(
    name="dark",
    primary="#7aa2f7",
    secondary="#9d8cd6",
    accent="#e0af68",
    success="#8fc78a",
    warning="#e0af68",
    error="#f07a8c",
    foreground="#d6dae4",
    background="#15171c",
    surface="#1a1d23",
    panel="#22262e",
    dark=True,
    variables={"scrollbar-background": "#1a1d23"},
)
LIGHT = Theme(
    name="light",
    primary="#2457a8",
    secondary="#6a4fa3",
    accent="#8a5a00",
    success="#24703f",
    warning="#8a5a00",
    error="#a8231d",
    foreground="#23262c",
    background="#fbfaf7",
    surface="#f4f2ed",
    panel="#e9e6df",
    dark=False,
    variables={"text-muted": "auto 72%"},
)
CONTRAST = Theme(
    name="contrast",
    primary="#66ccff",
    secondary="#ffccff",
    accent="#ffff00",
    success="#66ff66",
    warning="#ffff00",
    error="#ff8080",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    dark=True,
    text_alpha=1.0,
    variables={"text-muted": "#e0e0e0", "border": "#ffffff", "border-blurred": "#b0b0b0"},
)
PLAIN = replace(CONTRAST, name="plain")
"""For a screen reader or an old terminal: localmem.tcss draws no lines and boxes with it."""

THEMES = {theme.name: theme for theme in (DARK, LIGHT, CONTRAST, PLAIN)}
