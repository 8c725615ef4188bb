"""Resumes a run in a process of its own: ADDRESS FOLDER OVERRIDES..."""

import json
import sys
import warnings

warnings.simplefilter("ignore")

import ray  # noqa: E402
import transfer_queue as tq  # noqa: E402

from verl_run import Run, config_of  # noqa: E402

address, folder, *overrides = sys.argv[1:]
ray.init(address=address, log_to_driver=False)
tq.init()
run = Run(config_of(*overrides, folder=folder))
run.buffer._resume(run.trainer.global_steps)  # noqa: SLF001 - what its first step would do
loaded = run.buffer.toggle.to_bytes().hex()
rewards = [run.step()[0] for _ in range(3)]
print(
    json.dumps({"loaded": loaded, "rewards": rewards, "state": run.buffer.toggle.to_bytes().hex()})
)
ray.shutdown()
