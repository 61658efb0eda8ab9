"""Shows a translator at work, on a page in the browser.

    python tutorials/serve.py runs/tatoeba

Then open http://127.0.0.1:8000. The page shows the translation of what you
type, and which Spanish words each English word was written from. Programs
ask for the same with a POST of JSON to /translate:

    {"sentence": "¿Dónde está la casa roja?", "beam_search": true}
"""

import argparse
import asyncio
import json
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse
from starlette.responses import JSONResponse
from starlette.routing import Route
from translate import find_model
from translate import load


PAGE = Path(__file__).with_suffix(".html")
BODY_BYTES = 2**16
EXPECTED = 'Expected {"sentence": "some Spanish", "beam_search": true or false}'


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="what the tutorial wrote")
    add("--host", default="127.0.0.1", help="default: this machine alone")
    add("--port", type=int, default=8000, help="0 takes a free one")
    return parser.parse_args()


def open_socket(host, port):
    """Takes the port, before the model is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise SystemExit(
            f"Port {port} of {host} cannot be used ({error}). Give another "
            "one with --port; 0 takes a free one."
        ) from None


def load_translator(path):
    """Makes a function from words to what the page shows."""
    greedy, beams = load(
        path, "translate_with_attention", "beam_search_with_attention"
    )
    # Here, because it takes seconds.
    from keras_attention import attention_over_words

    def translate(words, beam_search):
        model = beams if beam_search else greedy
        results = model([" ".join(words).encode()])
        attention = attention_over_words(
            results["attention_scores"][0],
            results["source_pieces"][0],
            results["target_pieces"][0],
        )
        # Pieces write unknown characters as "<unk>"; the words have them.
        num_words = len(attention.source_words) - 1
        end = attention.source_words[num_words:]
        scores = attention.attention_scores.astype("float64").round(4)
        return {
            "translation": results["translations"][0].decode(),
            "source_words": words[:num_words] + end,
            "target_words": attention.target_words,
            "attention_scores": scores.tolist(),
            "num_words_left_out": len(words) - num_words,
        }

    return translate


async def read_body(request):
    """Reads a body to its end, so that a refusal arrives, and keeps a part."""
    body, size = b"", 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size <= BODY_BYTES:
                body += chunk
    except ClientDisconnect:
        raise HTTPException(400, "The request ended early.") from None
    if size > BODY_BYTES:
        raise HTTPException(
            413, f"The text is too long: at most {BODY_BYTES:,} bytes."
        )
    return body


def parse_body(body):
    """Finds words, and whether to use beam search, in the JSON."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, f"This is no JSON. {EXPECTED}.") from None
    if not isinstance(request, dict):
        raise HTTPException(422, f"This is no JSON object. {EXPECTED}.")
    unknown = request.keys() - {"sentence", "beam_search"}
    if unknown:
        raise HTTPException(422, f"Unknown: {sorted(unknown)}. {EXPECTED}.")
    sentence = request.get("sentence")
    beam_search = request.get("beam_search", False)
    if not isinstance(sentence, str):
        raise HTTPException(422, f'"sentence" is no text. {EXPECTED}.')
    if not isinstance(beam_search, bool):
        raise HTTPException(422, f'"beam_search" is no boolean. {EXPECTED}.')
    # JSON can hold halves of characters, which no UTF-8 can: they become "?".
    sentence = sentence.encode(errors="replace").decode()
    words = sentence.replace("▁", " ").split()  # as the model parts them
    if not words:
        raise HTTPException(422, "There is no word to translate.")
    return words, beam_search


def make_app(translate):
    thread = ThreadPoolExecutor(max_workers=1)  # one translation at a time

    async def show_page(request):
        return FileResponse(PAGE)

    async def answer(request):
        arguments = parse_body(await read_body(request))
        loop = asyncio.get_running_loop()
        results = await loop.run_in_executor(thread, translate, *arguments)
        return JSONResponse(results)

    async def explain(request, error):
        text = getattr(error, "detail", "The server failed; its log says why.")
        status = getattr(error, "status_code", 500)
        return JSONResponse({"error": text}, status)

    return Starlette(
        routes=[
            Route("/", show_page),
            Route("/translate", answer, methods=["POST"]),
        ],
        exception_handlers={HTTPException: explain, Exception: explain},
    )


def main():
    """Loads the model once, and serves it until Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends it without a word
    arguments = parse_arguments()
    path = find_model(arguments.folder)
    with open_socket(arguments.host, arguments.port) as listener:
        app = make_app(load_translator(path))
        host, port = listener.getsockname()[:2]
        host = f"[{host}]" if ":" in host else host
        print(f"Open http://{host}:{port} (Ctrl-C ends it)", flush=True)
        config = uvicorn.Config(app, log_level="warning")
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
