"""`lveg serve`: a page in the browser, and a JSON interface."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Models = Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model files written by `lveg train`.")]
Host = Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0 for other machines too.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at; 0 for any free one.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Number of processes, each for one request at a time; at most 2 if not given."),
]
Deadline = Annotated[float, typer.Option(min=0.01, help="Seconds after which a request is stopped.")]
MaxWords = Annotated[int, typer.Option(min=1, help="The largest number of words in a request.")]


def serve(
    models: Models,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = None,
    deadline: Deadline = 10.0,
    max_words: MaxWords = 250,
) -> None:
    """Parse and tag on a page in the browser, with one model or several side by side.

    Type a sentence and see its tree with the probability of each constituent.
    Click a constituent to say that it is one or that it is none, or a tag to
    choose another one: the parse follows. Nothing leaves this machine, and the
    page works offline. POST /api/parse and /api/tag are for programs, and
    /openapi.json describes them. Ctrl-C ends the server. This needs starlette
    and uvicorn, which are the extra `serve` of lveg.

        lveg serve my.model
    """
    from lveg.cli.console import COMPILING
    from lveg.container import read_whole
    from lveg.errors import UsageError
    from lveg.parallel import default_threads
    from lveg.progress import say

    try:
        from lveg.serve.pool import Pool
        from lveg.serve.server import listen
        from lveg.serve.server import serve as run
        from lveg.serve.supplies import Supplies, names_of
    except ModuleNotFoundError as error:
        raise UsageError(
            f"lveg serve needs {error.name}: install lveg with its extra, as in pip install -e '.[serve]'"
        ) from None

    data = [read_whole(str(model)) for model in models]
    listener = listen(host, port)
    supplies = Supplies(dict(zip(names_of(models), data, strict=True)), max_words)
    pool = Pool(supplies, workers or min(2, default_threads()), deadline, lambda: say(COMPILING))
    run(pool, listener, host, lambda address: say(f"lveg: the page is at {address} (Ctrl-C ends it)"))
    say("lveg: ended")
