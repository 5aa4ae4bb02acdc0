#!/usr/bin/env python3
"""Makes the two pictures in the README, timeline.png and desk.png, with the browser: usage: screenshots.py [FOLDER]

Beside them stands screenshots.sum, the digest of the page that they show: a test fails when the page has changed since.
"""
import hashlib
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request

import browsers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KUBETAPE = os.environ.get("KUBETAPE", os.path.join(os.path.abspath(os.environ.get("KUBETAPE_BUILD", os.path.join(ROOT, "build"))), "kubetape"))
TAPE = "tests/tapes/rolling-update.tape"
PAGE = os.path.join(ROOT, "replayer/view/page")
ROLLOUT = "select=" + urllib.parse.quote("deployments.apps/shop/web", "") + "&at=1795254690156010575@246"
READY = "document.documentElement.dataset.ready === '1' && kubetape.timeline.model.lanes.length > 10"
PATIENCE_S = 60


def digest():
    """Of the page's sources."""
    total = hashlib.sha256()
    for name in sorted(os.listdir(PAGE)):
        with open(os.path.join(PAGE, name), "rb") as file:
            total.update(name.encode() + b"\0" + file.read())
    return total.hexdigest()


def take(browser, path):
    """Once nothing is drawn any more."""
    browser.evaluate("document.fonts.ready.then(() => new Promise(done => setTimeout(done, 400)))")
    browser.screenshot(path)


def timeline(folder):
    with subprocess.Popen([KUBETAPE, "view", TAPE, "--no-browser"], stdout=subprocess.PIPE, text=True, cwd=ROOT) as view:
        url = view.stdout.readline().strip()
        with browsers.open_browser("chromium", "light") as browser:
            browser.go(url + "#pane=object&diff=1&" + ROLLOUT)
            browser.wait(READY + " && document.querySelector('#pane .who') !== null")
            take(browser, os.path.join(folder, "timeline.png"))
        view.terminate()


def watch(api, path, agent):
    return urllib.request.urlopen(urllib.request.Request(api + path, headers={"User-Agent": agent}), timeout=PATIENCE_S)


def desk(folder):
    with subprocess.Popen([KUBETAPE, "replay", TAPE, "--view", "--plain", "--speed", "max", "--wait-watchers", "2"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, cwd=ROOT) as replay:
        api = replay.stdout.readline().split()[-1]
        url = re.match(r"view at (\S+)", replay.stderr.readline()).group(1)
        base, token = url.split("?token=")
        urllib.request.urlopen(urllib.request.Request(base + "data/desk/run?until=seq:456&token=" + token, method="POST"), timeout=PATIENCE_S).close()
        with watch(api, "/api/v1/pods?watch=1", "shop-controller/1.4"), watch(api, "/apis/apps/v1/deployments?watch=1", "rollout-watcher/0.9"):
            with browsers.open_browser("chromium", "dark") as browser:
                browser.go(url + "#pane=desk&select=" + urllib.parse.quote("pods/shop/lonely", "") + "&at=1795254707714182000@473")
                browser.wait(READY + " && document.getElementById('desk-state')?.textContent === 'paused' && document.querySelectorAll('#pane tbody tr').length === 2")
                take(browser, os.path.join(folder, "desk.png"))
        replay.terminate()
        replay.communicate(timeout=PATIENCE_S)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else HERE
    timeline(folder)
    desk(folder)
    with open(os.path.join(folder, "screenshots.sum"), "w", encoding="utf-8") as file:
        file.write(digest() + "\n")


if __name__ == "__main__":
    main()
