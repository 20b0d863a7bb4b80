"""Every page of the built book in a headless browser: it loads whole, from this host alone, and shows its math.

`make test` builds the book from the committed notebooks first. Without a browser or a built book these tests are
skipped, except in continuous integration (CI=true), where they fail.
"""

import functools
import http.server
import os
import shutil
import threading
from urllib.parse import urlsplit

import pytest

from tools.environment import ROOT

BUILT = [ROOT / "_build" / "test" / "_build" / "html", ROOT / "_build" / "html"]
BOOK = next((folder for folder in BUILT if (folder / "index.html").exists()), None)
PAGES = sorted(
    path.relative_to(BOOK).as_posix()
    for path in (BOOK.rglob("*.html") if BOOK else ())
    if "_static" not in path.relative_to(BOOK).parts
)
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()
MATH = """() => ({
    formulas: document.querySelectorAll('.math').length,
    shown: document.querySelectorAll('.math mjx-container svg').length,
    errors: [...document.querySelectorAll('[data-mml-node="merror"]')].map(e => e.parentNode.textContent),
    dollars: [...document.querySelectorAll('.claim-card')].map(e => e.innerText).filter(t => /\\$[^$]+\\$/.test(t)),
})"""
IMAGES = """() => [...document.images].filter(i => !i.alt.trim() || !i.complete || !i.naturalWidth).map(i => i.src)"""


def unavailable(why):
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="module")
def address():
    if BOOK is None:
        unavailable("no built book: make test builds it")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(BOOK)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        unavailable("no chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser.new_context()
        browser.close()


@pytest.fixture
def visit(browser):
    """Open an address; what went wrong on the way, and the page."""
    page = browser.new_page()
    wrong = []
    host = ""

    def on_request(request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and parts.netloc != host:
            wrong.append(f"request to another host: {request.url}")

    page.on("request", on_request)
    page.on("requestfailed", lambda request: wrong.append(f"failed request: {request.url} {request.failure}"))
    page.on("response", lambda r: wrong.append(f"status {r.status}: {r.url}") if r.status >= 400 else None)
    page.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
    page.on("console", lambda message: wrong.append(f"console: {message.text}") if message.type == "error" else None)

    def go(base, name):
        nonlocal host
        host = urlsplit(base).netloc
        page.goto(f"{base}/{name}", wait_until="load")
        if 'http-equiv="Refresh"' in (BOOK / name).read_text(encoding="utf-8"):
            page.wait_for_url(lambda url: not url.endswith(f"/{name}"), wait_until="load")
        if page.evaluate(MATH)["formulas"]:
            page.wait_for_function("window.MathJax && MathJax.startup && MathJax.startup.promise")
            page.evaluate("() => MathJax.startup.promise.then(() => true)")
        page.wait_for_load_state("networkidle")
        return page, wrong

    yield go
    page.close()


def test_there_is_a_book(address):
    assert "index.html" in PAGES and len(PAGES) > 3


@pytest.mark.parametrize("name", PAGES)
def test_page(name, address, visit):
    page, wrong = visit(address, name)
    math = page.evaluate(MATH)
    assert wrong == []
    assert math["errors"] == [] and math["dollars"] == []
    assert math["shown"] >= math["formulas"]
    page.evaluate("() => document.querySelectorAll('img').forEach(i => i.loading = 'eager')")
    page.wait_for_function("() => [...document.images].every(i => i.complete)")
    assert page.evaluate(IMAGES) == []


def test_from_a_folder_without_a_server(address, visit):
    page, wrong = visit(BOOK.as_uri(), "index.html")
    assert wrong == [] and "Private Regret" in page.title()
