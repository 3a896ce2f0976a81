"""Stand-in for QMD: a program that speaks as much of its command line and protocol as is used.

What it does wrong is the word in the file that ``STAND_IN`` names, read at each command and each
question; what it was asked goes to the end of that file's ``.log``.
"""

from __future__ import annotations

import fnmatch
import json
import os
import sys
import time
from pathlib import Path

CONTROL = Path(os.environ["STAND_IN"])
DATABASE = Path(os.environ["XDG_CACHE_HOME"]) / "qmd" / "commonplace.sqlite"
WRONG_ANSWERS: dict[str, dict] = {
    "refuses": {
        "content": [{"type": "text", "text": "Lex query has an unmatched double quote"}],
        "isError": True,
    },
    "another version": {"structuredContent": {"documents": []}},
    "another form": {"structuredContent": {"results": [{"path": "a.md", "row": 3}]}},
    "odd values": {
        "structuredContent": {"results": [{"file": "a/b.md", "line": float("inf"), "score": 1}]}
    },
    "odd types": {"structuredContent": {"results": [{"file": 3, "line": 1, "score": 1}]}},
}


def fault() -> str:
    return CONTROL.read_text() if CONTROL.exists() else ""


def log(*words: object) -> None:
    with CONTROL.with_suffix(".log").open("a") as file:
        print(json.dumps(words), file=file)


def main() -> None:
    assert sys.argv[1:3] == ["--index", "commonplace"]
    command, *rest = sys.argv[3:]
    log(command, *rest)
    if fault() == "dies":
        sys.exit("qmd: it broke\nSegmentation fault")
    if fault() == "update hangs" and command == "update":
        time.sleep(60)
    if command == "collection":
        collection(*rest)
    elif command == "update":
        update()
    elif command == "query":
        asked = [line.split(": ", 1) for line in rest[0].split("\n")]
        found = results([(kind, text) for kind, text in asked], "qmd://%s?index=commonplace")
        print("not JSON" if fault() == "garbage" else json.dumps(found))
    elif command == "mcp":
        serve()


def load() -> dict:
    return json.loads(DATABASE.read_text()) if DATABASE.exists() else {"collections": {}}


def save(data: dict) -> None:
    DATABASE.parent.mkdir(parents=True, exist_ok=True)
    DATABASE.write_text(json.dumps(data))


def collection(verb: str, what: str, *options: str) -> None:
    data = load()
    if verb == "add":
        name, mask = options[1], options[3]
        if name in data["collections"]:
            sys.exit(f"Collection '{name}' already exists.")
        data["collections"][name] = {"folder": what, "mask": mask, "files": {}}
    elif data["collections"].pop(what, None) is None:
        sys.exit(f"Collection not found: {what}")
    save(data)


def update() -> None:
    data = load()
    for held in data["collections"].values():
        folder = Path(held["folder"])
        held["files"] = {
            path.relative_to(folder).as_posix(): path.read_text("utf-8").split("\n")
            for path in sorted(folder.rglob("*.md"))
            if held["mask"] == "**/*.md" or fnmatch.fnmatchcase(path.name, held["mask"])
        }
    save(data)


def results(queries: list[tuple[str, str]], form: str) -> list[dict]:
    """Name the first line of each file that holds one of the words, best first."""
    found = []
    for name, held in load()["collections"].items():
        for file, lines in held["files"].items():
            for number, line in enumerate(lines, 1):
                if any(text.lower() in line.lower() for kind, text in queries if kind == "lex"):
                    found.append({"file": form % f"{name}/{file}", "line": number, "score": 1.0})
                    break
    if fault() == "lies":
        first = found[0]["file"] if found else form % "1-memory/MEMORY.md"
        folder = first.rpartition("/")[0]
        outside = [f"{folder}/../../secret.md", f"{folder}//etc/passwd", "elsewhere/MEMORY.md"]
        outside += [f"{folder}/\ud800.md", f"{folder}/a\0.md"]
        wrong = [{"file": form % file, "line": 1, "score": 1.0} for file in outside]
        lines = [{"file": first, "line": line, "score": 1.0} for line in (0, -7, 10**12)]
        return wrong + lines + found
    return found


def serve() -> None:
    if fault() == "no server":
        sys.exit("Unknown command: mcp")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer(message)


def answer(message: dict) -> None:
    wrong, method = fault(), message["method"]
    if wrong == "hangs" or (wrong == "hangs on questions" and method == "tools/call"):
        while fault().startswith("hangs"):
            time.sleep(0.02)
    if wrong == "dies in the middle" and method == "tools/call":
        sys.stdout.write('{"jsonrpc": "2.0", "id"')
        sys.stdout.flush()
        os._exit(9)
    if wrong == "garbage":
        print("Loading model … 3 %")
    if method == "initialize":
        say(message, {"serverInfo": {"name": "qmd", "version": "2.8.3"}})
        return
    asked = message["params"]["arguments"]
    log(asked)
    if wrong in WRONG_ANSWERS:
        say(message, WRONG_ANSWERS[wrong])
    else:
        queries = [(query["type"], query["query"]) for query in asked["searches"]]
        found = results(queries, "%s")
        say(message, {"structuredContent": {"results": found[: asked["limit"]]}})


def say(message: dict, result: dict) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
