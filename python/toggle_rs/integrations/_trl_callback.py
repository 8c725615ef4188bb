"""The part of the TRL integration that cannot be written without transformers."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from toggle_rs import Toggle

from .trl import _Run

if TYPE_CHECKING:
    from .trl import ToggleReward

# A state above this many bytes goes into a file beside trainer_state.json, not into it.
LARGE = 1 << 20


class ToggleCallback(TrainerCallback, ExportableState):  # type: ignore[misc] # not installed here
    """Tells a `ToggleReward` about the trainer, and keeps its state with the checkpoints.

    Made by `ToggleReward.callback`, as a class of its own for each reward.
    """

    reward: ClassVar[ToggleReward]
    _folder: Path | None = None
    _trainer_state: Any = None

    def on_init_end(self, args: Any, _state: Any, _control: Any, model: Any, **_: Any) -> None:
        """Evaluation may come before training."""
        self.reward.run = _Run(model, args.num_generations)

    def on_train_begin(self, args: Any, state: Any, _control: Any, model: Any, **_: Any) -> None:
        """Begin anew, or where the checkpoint was."""
        self.reward.run = _Run(model, args.num_generations)
        self._folder, self._trainer_state = Path(args.output_dir), state
        name = type(self).__name__
        saved = state.stateful_callbacks.get(name)
        if isinstance(saved, list):
            # transformers reads such a list from the wrong end.
            raise ValueError(  # noqa: TRY004 - not of a wrong type, but twice
                f"callbacks: two rewards have the name {self.reward.__name__!r}"
            )
        if state.global_step == 0:
            self.reward.load(None)
        elif saved is None:
            warnings.warn(
                f"the checkpoint has no state of {name}: budgets begin at step {state.global_step}",
                stacklevel=2,
            )
            self.reward.load(None)
            # To save, transformers expects an entry.
            state.stateful_callbacks[name] = self.state()
        else:
            self.reward.load(self._read(saved))

    def on_step_end(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """What a step has shaped counts from the next one on."""
        self.reward.settle(state.global_step)

    def on_train_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """No more checkpoints."""
        self._folder = self._trainer_state = None

    def state(self) -> dict[str, Any]:
        """For trainer_state.json, which is written last: a checkpoint that has it is complete."""
        result: dict[str, Any] = {"args": {}, "attributes": {}}
        folder = self._checkpoint()
        if folder is not None:
            self.reward.settle(self._trainer_state.global_step)
        toggle = self.reward.toggle
        data = toggle.to_bytes()
        if folder is None or not folder.is_dir() or len(data) <= LARGE:
            return result | {"toggle": toggle.state_dict()}
        # Its name says what is in it, so that a file of another run is not taken for it.
        path = folder / f"toggle-{hashlib.sha256(data).hexdigest()[:16]}.bin"
        toggle.save(path)
        return result | {"file": str(path.resolve())}

    def _checkpoint(self) -> Path | None:
        if self._folder is None:
            return None
        return self._folder / f"checkpoint-{self._trainer_state.global_step}"

    def _read(self, saved: dict[str, Any]) -> dict[str, Any]:
        if "toggle" in saved:
            return dict(saved["toggle"])
        # The folder may have been moved; which one a run resumes from is not told to callbacks.
        path = Path(saved["file"])
        places = [folder / path.name for folder in (self._checkpoint(), path.parent) if folder]
        for place in places:
            if place.is_file():
                return Toggle.load(place).state_dict()
        raise FileNotFoundError(
            f"the state of {type(self).__name__} is in none of {[str(place) for place in places]}: "
            "copy it there from the checkpoint"
        )
