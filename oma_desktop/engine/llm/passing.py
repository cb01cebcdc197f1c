"""An adapter in front of another: it is what the other is, but for what a subclass changes."""

from __future__ import annotations

from collections.abc import AsyncIterator

from typing_extensions import override

from oma_desktop.engine.cancel import CancelToken
from oma_desktop.engine.llm.base import ModelAdapter, ModelEvent, ModelRequest


class PassingAdapter(ModelAdapter):
    """Passes everything on. The owner of `inner` closes it."""

    def __init__(self, inner: ModelAdapter) -> None:
        self.name = inner.name
        self.inner = inner

    @property
    @override
    def is_local(self) -> bool:
        """As the inner adapter."""
        return self.inner.is_local

    @property
    @override
    def goes_to(self) -> str | None:
        """As the inner adapter."""
        return self.inner.goes_to

    @property
    @override
    def is_offline(self) -> bool:
        """As the inner adapter."""
        return self.inner.is_offline

    @override
    def stream(self, request: ModelRequest, token: CancelToken) -> AsyncIterator[ModelEvent]:
        """As the inner adapter."""
        return self.inner.stream(request, token)

    @override
    async def close(self) -> None:
        """Nothing of its own to release."""
