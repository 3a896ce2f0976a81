"""A process that changes notes at random, for test_model.py: ``model_worker.py ROOT STATE SEED N``.

It prints a line of JSON for each change before it begins and after it ended, so that a process
that was killed in between is known to have left the text of before or of after. A kill is a SIGKILL
at a random step: see `history.worker`.
"""

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from commonplace.errors import ConflictError, EditError, WorkspaceReadOnlyError
from commonplace.memory import Memory
from commonplace.settings import Settings, SyncSettings
from history import worker

SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False))
NAMES = [f"memory/n{number}.md" for number in range(6)]


def opened(root, state):
    return Memory.open(root, settings=SETTINGS, embedder=None, index=state / "index.sqlite")


def say(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def text(draw, tag):
    return f"# {tag}\n\n" + "".join(
        f"- {tag} {number} {draw.random():.6f}\n" for number in range(draw.randrange(1, 6))
    )


def change(memory, draw, tag):
    """Make one change; return what it wrote, by path; None is no note."""
    verb = draw.choice(["write", "write", "edit", "edit", "append", "delete", "move", "undo"])
    path = draw.choice(NAMES)
    if verb == "write":
        new = text(draw, tag)
        say(begins={path: new})
        memory.write(path, new)
    elif verb == "append":
        say(begins={path: f"- {tag}"}, part=True)
        memory.append(f"- {tag}", path=path)
    elif verb == "edit":
        excerpt = memory.get(path)
        lines = [line for line in excerpt.text.split("\n") if line.startswith("- ")]
        if not lines:
            return
        line = draw.choice(lines)
        new = excerpt.text.replace(line, f"- {tag}", 1)
        say(begins={path: new})
        memory.edit(path, line, f"- {tag}", if_version=excerpt.version)
    elif verb == "delete":
        say(begins={path: None})
        memory.delete(path)
    elif verb == "move":
        say(begins={path: None})
        memory.move(path, draw.choice(NAMES))
    else:
        versions = memory.history(path, limit=5)
        if versions:
            say(begins={path: None})
            memory.undo(draw.choice(versions).id)


def main(root, state, seed, count, kill_at):
    draw = random.Random(seed)
    if kill_at:
        worker.instrument(kill_at)
    with opened(Path(root), Path(state)) as memory:
        for number in range(count):
            try:
                change(memory, draw, f"p{seed}-{number}")
            except (ConflictError, EditError, WorkspaceReadOnlyError) as error:
                say(refused=type(error).__name__)
            else:
                say(done=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
