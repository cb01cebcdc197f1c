"""Where the map looks: zoom and offset, as plain numbers (look.md 7: near, middle, far)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from oma_desktop.viewmodel.graph_geometry import Box

NEAR: Final = 0.8
MIDDLE: Final = 0.4
MAX_ZOOM: Final = 2.0
MIN_ZOOM: Final = 0.05
STEP: Final = 1.25


class Level(Enum):
    """How much a node says."""

    NEAR = "near"
    MIDDLE = "middle"
    FAR = "far"


@dataclass(frozen=True, slots=True)
class Camera:
    """screen = scene * factor + (x, y), in logical pixels; factor = zoom * text scale."""

    zoom: float = 1.0
    x: float = 0.0
    y: float = 0.0
    scale: float = 1.0

    @property
    def factor(self) -> float:
        return self.zoom * self.scale

    @property
    def level(self) -> Level:
        if self.zoom >= NEAR - 1e-9:
            return Level.NEAR
        return Level.MIDDLE if self.zoom >= MIDDLE - 1e-9 else Level.FAR

    def to_screen(self, box: Box) -> Box:
        f = self.factor
        return Box(box.x * f + self.x, box.y * f + self.y, box.width * f, box.height * f)

    def to_scene(self, x: float, y: float) -> tuple[float, float]:
        return (x - self.x) / self.factor, (y - self.y) / self.factor

    def seen(self, width: float, height: float) -> Box:
        """Return the part of the scene a window of this size shows."""
        x, y = self.to_scene(0, 0)
        return Box(x, y, width / self.factor, height / self.factor)

    def moved(self, dx: float, dy: float) -> Camera:
        return replace(self, x=self.x + dx, y=self.y + dy)

    def zoomed(self, zoom: float, *, at: tuple[float, float], least: float = MIN_ZOOM) -> Camera:
        """Zoom so that the point of the scene under `at` (screen) stays there."""
        new = min(MAX_ZOOM, max(least, zoom))
        sx, sy = self.to_scene(*at)
        f = new * self.scale
        return replace(self, zoom=new, x=at[0] - sx * f, y=at[1] - sy * f)

    def centred(self, x: float, y: float, *, width: float, height: float) -> Camera:
        """Put a point of the scene into the middle."""
        return replace(self, x=width / 2 - x * self.factor, y=height / 2 - y * self.factor)

    def showing(self, box: Box, *, within: Box) -> Camera:
        """Move as little as needed to have `box` (scene) inside `within` (screen)."""
        at = self.to_screen(box)
        return self.moved(
            _nudge(at.x, at.right, within.x, within.right),
            _nudge(at.y, at.bottom, within.y, within.bottom),
        )


def fitted(bounds: Box, *, within: Box, scale: float) -> Camera:
    """Return the camera that shows all of `bounds` in the middle of `within`, at most at 100 %."""
    if not bounds.width or not bounds.height:
        return Camera(scale=scale)
    most = min(within.width / bounds.width, within.height / bounds.height) / scale
    zoom = max(1e-3, min(1.0, most))
    f = zoom * scale
    x = within.x + (within.width - bounds.width * f) / 2 - bounds.x * f
    y = within.y + (within.height - bounds.height * f) / 2 - bounds.y * f
    return Camera(zoom, round(x), round(y), scale)


def _nudge(low: float, high: float, least: float, most: float) -> float:
    if low < least:
        return least - low
    return max(most - high, least - low) if high > most else 0.0
