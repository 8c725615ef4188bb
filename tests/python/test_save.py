"""Files of state: what is there at any moment is the old state or the new one."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resume
from toggle_rs import CheckpointError, Toggle, ToggleBudgetTracker

# `TOGGLE_RS_KILLS=200` for a long run.
KILLS = int(os.environ.get("TOGGLE_RS_KILLS", "20"))

# Saves states that count 1, 2, 3 ... and says of each that it is saved.
SAVES = """
import os, sys
import numpy as np
from toggle_rs import Toggle

toggle = Toggle.load(sys.argv[1])
os.write(1, b"ready\\n")
while True:
    toggle.observe(["count"], [1], correct=np.array([True]))
    toggle.save(sys.argv[1])
    os.write(1, b"%d\\n" % toggle.counts()[("count",)])
"""


def large() -> Toggle:
    """About 300 kB as bytes: writing them takes a while."""
    toggle = Toggle(m=1, lambda_=0.5, percentile=80)
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 2**20, 200_000)
    toggle.observe(["large"] * len(lengths), lengths, correct=np.ones(len(lengths), bool))
    toggle.observe(["count"], [1], correct=np.array([True]))
    return toggle


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_save_and_load(tmp_path: Path) -> None:
    for state in (resume.toggle("exact"), resume.tracker("exact")):
        resume.play(state, 1, range(10))
        for path in (tmp_path / "a", str(tmp_path / "b"), tmp_path / "ä b"):
            assert state.save(path) is None
            assert type(state).load(path) == state
        assert names(tmp_path) == ["a", "b", "ä b"]


def test_a_bare_name_is_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    resume.toggle("exact").save("state")
    assert names(tmp_path) == ["state"]


def test_a_saved_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"")
    resume.toggle("exact").save(tmp_path / "state")
    assert (tmp_path / "state").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("path", [b"state", 5, None, ["state"]])
def test_what_is_no_path_is_named(path: Any) -> None:
    message = r"^path: got .*, expected a str or os.PathLike of one$"
    for call in (resume.toggle("exact").save, Toggle.load, ToggleBudgetTracker.load):
        with pytest.raises(TypeError, match=message):
            call(path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_permissions_stay_what_they_were(tmp_path: Path, mode: int) -> None:
    path, link = tmp_path / "state", tmp_path / "link"
    path.write_bytes(b"")
    path.chmod(mode)
    link.symlink_to(path)
    for name in (path, link):
        resume.toggle("exact").save(name)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert Toggle.load(path) == resume.toggle("exact")


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes")
def test_a_link_stays_one_and_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    toggle = resume.toggle("exact")
    (tmp_path / "folder").mkdir()
    link, file, pipe = tmp_path / "link", tmp_path / "folder" / "state", tmp_path / "pipe"
    file.write_bytes(b"old")
    link.symlink_to("folder/state")
    toggle.save(link)
    assert link.is_symlink()
    assert Toggle.load(file) == toggle
    os.mkfifo(pipe)
    (tmp_path / "to pipe").symlink_to(pipe)
    for path in (pipe, tmp_path / "to pipe"):
        with pytest.raises(OSError, match=re.escape(f"not a regular file: {path}")):
            toggle.save(path)
    assert pipe.is_fifo()
    assert names(tmp_path) == ["folder", "link", "pipe", "to pipe"]
    assert names(tmp_path / "folder") == ["state"]


def test_a_failed_save_leaves_what_was_there(tmp_path: Path) -> None:
    toggle = resume.toggle("exact")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"")
    with pytest.raises(OSError, match="folder") as error:
        toggle.save(tmp_path / "folder")
    assert error.value.filename == str(tmp_path / "folder")
    with pytest.raises(FileNotFoundError) as missing:
        toggle.save(tmp_path / "absent" / "state")
    assert missing.value.filename == str(tmp_path / "absent" / "state")
    with pytest.raises(FileNotFoundError):
        Toggle.load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        Toggle.load(tmp_path / "folder")
    with pytest.raises(OSError, match="/"):
        toggle.save("/")
    no_paths: tuple[Any, ...] = (None, 3, ["a"])
    for bad in no_paths:
        with pytest.raises(TypeError):
            toggle.save(bad)
        with pytest.raises(TypeError):
            Toggle.load(bad)
    assert names(tmp_path) == ["folder"]


def test_files_that_are_no_snapshot_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a state"
    named = re.escape(f"{path}: not a valid snapshot: ")
    state = resume.toggle("exact").to_bytes()
    for content in (b"", b"text", state[:-1], state + b"\0", b"\0" * 10_000_000):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=f"^{named}."):
            Toggle.load(path)
    path.write_bytes(state)
    with pytest.raises(CheckpointError, match=f"^{named}.*one of Toggle, expected "):
        ToggleBudgetTracker.load(path)


def test_kills_leave_the_old_or_the_new_state(tmp_path: Path) -> None:
    path = tmp_path / "state"
    toggle = large()
    toggle.save(path)
    count = 1
    rng = np.random.default_rng(KILLS)
    for _ in range(KILLS):
        command = [sys.executable, "-c", SAVES, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            saved = process.stdout.read().split()
        count = int(saved[-1]) if saved else count
        found = Toggle.load(path).counts()[("count",)]
        # The kill may come between a save and the word of it.
        assert found in {count, count + 1}
        count = found
    assert Toggle.load(path).counts()[("large",)] == 200_000


def test_the_order_of_system_calls(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    trace, path = tmp_path / "trace", tmp_path / "state"
    script = (
        "import sys, toggle_rs; toggle_rs.Toggle(m=1, lambda_=1, percentile=1).save(sys.argv[1])"
    )
    calls = "trace=openat,write,fsync,fdatasync,close,rename,renameat,renameat2"
    command = [strace, "-f", "-e", calls, "-o", trace, sys.executable, "-c", script, path]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if "ptrace" in run.stderr:
        pytest.skip(f"strace may not trace here: {run.stderr.splitlines()[0]}")
    assert run.returncode == 0
    lines = trace.read_text().splitlines()
    aside = re.escape(str(tmp_path)) + r"/\.toggle-\d+-\d+\.tmp"
    start = next(i for i, line in enumerate(lines) if re.search(aside, line))
    # Without process ids; what follows the folder's sync is the interpreter's end.
    seen = [re.sub(r"^\d+ +", "", line) for line in lines[start:]][:8]
    file = re.search(r"= (\d+)$", seen[0])
    folder = re.search(r"= (\d+)$", seen[4])
    assert file is not None
    assert folder is not None
    expected = [
        rf'openat\(AT_FDCWD, "{aside}", .*O_WRONLY\|O_CREAT\|O_EXCL.*= {file[1]}',
        rf"write\({file[1]}, .*= \d+",
        rf"fsync\({file[1]}\) += 0",
        rf'rename\("{aside}", "{re.escape(str(path))}"\) += 0',
        rf'openat\(AT_FDCWD, "{re.escape(str(tmp_path))}", .*= {folder[1]}',
        rf"fsync\({folder[1]}\) += 0",
    ]
    for line, pattern in zip(seen, expected, strict=False):
        assert re.match(pattern, line), f"{line!r} is not {pattern!r}\n" + "\n".join(seen)
