"""One state for the ranks of a `torch.distributed` process group."""

from __future__ import annotations

from typing import Any, TypeVar

from toggle_rs import Toggle, ToggleBudgetTracker

__all__ = ["sync"]

_Tracker = TypeVar("_Tracker", Toggle, ToggleBudgetTracker)
# A class travels as its place in this tuple.
_CLASSES = (Toggle, ToggleBudgetTracker)


def sync(tracker: _Tracker, group: Any = None) -> _Tracker:
    """Merge the trackers of all ranks into a new one, equal on every rank.

    The tracker of each rank is only read: let it go on observing, and shape with the new one.
    However often this is called, nothing is counted twice, as long as the new one is not made the
    rank's own. Every rank of the group must call it, also one that has seen nothing.

    Needs the memory and the traffic of the largest snapshot times the number of ranks, and on each
    rank the time to read and merge them all.

    Args:
        tracker: What this rank has observed.
        group: A process group; by default that of all ranks. Its backend may be any that gathers
            uint8 tensors, gloo and NCCL among them.

    Returns:
        A `Toggle` or a `ToggleBudgetTracker`, as `tracker` is.

    Raises:
        ModuleNotFoundError: torch is not installed.
        ValueError: There is no process group, this process is not in it, or the settings of two
            ranks differ. For settings, and below, the error is the same on every rank.
        TypeError: Some rank's tracker is of another class than the first rank's, or of none that
            can be merged; or the estimator has no sound merge.
    """
    try:
        import torch  # noqa: PLC0415 - heavy, and only this function needs it
        from torch import distributed  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "toggle_rs.integrations.distributed needs torch: pip install 'toggle-rs[distributed]'",
            name=error.name,
        ) from error
    if distributed.get_rank(group) < 0:
        raise ValueError("group: this process is not in it")
    # Such as "cpu:gloo,cuda:nccl". Memory of the host is the better place, where there is a choice.
    backends = distributed.get_backend_config(group).split(",")
    devices = [backend.partition(":")[0] for backend in backends]
    device = "cpu" if "cpu" in devices else devices[0]

    def gather(tensor: Any) -> list[Any]:
        tensor = tensor.to(device)
        result = [torch.empty_like(tensor) for _ in range(distributed.get_world_size(group))]
        distributed.all_gather(result, tensor, group=group)
        return result

    # A rank that cannot take part says so: if it raised by itself, the others would wait for it.
    kind = next((i for i, known in enumerate(_CLASSES) if isinstance(tracker, known)), -1)
    own = b"" if kind < 0 else tracker.to_bytes()
    headers = [header.tolist() for header in gather(torch.tensor([kind, len(own)]))]
    _check_classes([kind for kind, _ in headers])
    padded = torch.zeros(max(length for _, length in headers), dtype=torch.uint8)
    padded[: len(own)] = torch.frombuffer(bytearray(own), dtype=torch.uint8)
    states = [
        state[:length].cpu().numpy().tobytes()
        for state, (_, length) in zip(gather(padded), headers, strict=True)
    ]
    # In order of rank, so that every rank gets the same bits and the same error.
    merged: Any = _CLASSES[headers[0][0]].from_bytes(states[0])
    for rank, state in enumerate(states[1:], start=1):
        _take_in(merged, rank, state)
    return merged  # type: ignore[no-any-return]  # of the class of `tracker`, as checked


def _check_classes(kinds: list[int]) -> None:
    """All ranks see the same list, so all of them raise, or none does."""
    for rank, kind in enumerate(kinds):
        if kind < 0:
            names = " or ".join(known.__name__ for known in _CLASSES)
            raise TypeError(f"tracker: rank {rank} has none to merge, expected a {names}")
        if kind != kinds[0]:
            first, other = _CLASSES[kinds[0]].__name__, _CLASSES[kind].__name__
            raise TypeError(f"tracker: rank 0 has a {first}, rank {rank} a {other}")


def _take_in(merged: Any, rank: int, state: bytes) -> None:
    try:
        merged.merge(type(merged).from_bytes(state))
    except (TypeError, ValueError) as error:
        raise type(error)(f"tracker: that of rank {rank} cannot be merged: {error}") from error
