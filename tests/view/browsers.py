"""Chromium and Firefox, headless, driven over their own protocols (CDP, WebDriver BiDi) with nothing but the standard library.

    with browsers.open_browser("chromium") as b:
        b.go(url)
        b.evaluate("1 + 1")          any expression, promises are waited for; what it gives must be JSON
        b.press("Enter")             a key, as a person presses it
        b.screenshot("x.png")
        b.errors, b.requests         what the console was told of errors; the addresses that were asked
"""
import base64
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

NAMES = {"chromium": ["chromium", "chromium-browser", "google-chrome"], "firefox": ["firefox-esr", "firefox"]}
START_S = 120  # on a busy machine; a browser that is up answers at once
ANSWER_S = 120


def find(name):
    """The program, or None."""
    return next((path for path in map(shutil.which, NAMES[name]) if path), None)


class WebSocket:
    """A client that sends and receives texts."""

    def __init__(self, host, port, path):
        self.socket = socket.create_connection((host, port), timeout=ANSWER_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.file = self.socket.makefile("rb")
        if b" 101 " not in self.file.readline():
            raise ConnectionError("no WebSocket at " + path)
        while self.file.readline() not in (b"\r\n", b""):
            pass
        self.lock = threading.Lock()

    def send(self, text, opcode=1):
        data, mask = text.encode(), os.urandom(4)
        head = bytes([0x80 | opcode])
        if len(data) < 126:
            head += bytes([0x80 | len(data)])
        elif len(data) < 65536:
            head += b"\xfe" + struct.pack(">H", len(data))
        else:
            head += b"\xff" + struct.pack(">Q", len(data))
        with self.lock:
            self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def read_exactly(self, n):
        data = self.file.read(n)
        if len(data) < n:
            raise ConnectionError("the browser closed the connection")
        return data

    def receive(self):
        text = b""
        while True:
            first, second = self.read_exactly(2)
            n = second & 127
            if n == 126:
                n = struct.unpack(">H", self.read_exactly(2))[0]
            elif n == 127:
                n = struct.unpack(">Q", self.read_exactly(8))[0]
            data = self.read_exactly(n)
            if first & 15 == 8:
                raise ConnectionError("the browser closed the connection")
            if first & 15 == 9:
                self.send(data.decode(), 10)
            if first & 15 < 3:
                text += data
                if first & 0x80:
                    return text.decode()

    def close(self):
        self.socket.close()


class Browser:
    """What both have in common: a process, and commands whose answers come beside events."""

    def __init__(self, command):
        self.home = tempfile.mkdtemp(prefix="kubetape-browser-")
        self.errors, self.requests = [], []
        self.answers, self.number = {}, 0
        self.changed = threading.Condition()
        self.over = None
        self.log = open(os.path.join(self.home, "log"), "w+b")  # pylint: disable=consider-using-with
        environment = dict(os.environ, HOME=self.home, MOZ_HEADLESS_WIDTH="1280", MOZ_HEADLESS_HEIGHT="720")
        self.process = subprocess.Popen(command(self.home), stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
                                        env=environment, start_new_session=True)
        try:
            self.connection = self.connect()
            self.reader = threading.Thread(target=self.read, daemon=True)
            self.reader.start()
            self.begin()
        except BaseException:
            self.close()
            raise

    def wait_for(self, look):
        """Calls until something comes."""
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            found = look()
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        with open(self.log.name, encoding="utf-8", errors="replace") as log:
            raise AssertionError("the browser did not start: " + log.read()[-2000:])

    def read(self):
        try:
            while True:
                message = json.loads(self.connection.receive())
                if "id" in message:
                    with self.changed:
                        self.answers[message["id"]] = message
                        self.changed.notify_all()
                else:
                    self.on_event(message.get("method", ""), message.get("params", {}))
        except (OSError, ValueError) as e:
            with self.changed:
                self.over = e
                self.changed.notify_all()

    def call(self, method, **parameters):
        self.number += 1
        number = self.number
        self.connection.send(json.dumps({"id": number, "method": method, "params": parameters, **self.address(method)}))
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.answers or self.over, ANSWER_S):
                raise AssertionError(f"the browser does not answer {method}")
            if number not in self.answers:
                raise AssertionError(f"the browser went away: {self.over}")
            answer = self.answers.pop(number)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer.get('message') or answer['error']}")
        return answer.get("result", {})

    def address(self, _method):
        return {}

    def wait(self, expression, what=None):
        """Until the expression is true."""
        until, last = time.monotonic() + ANSWER_S, None
        while time.monotonic() < until:
            try:
                last = self.evaluate(expression)
            except AssertionError as e:  # between two pages there is nothing that it could be asked of
                last = None if self.over is None else self.fail(e)
            if last:
                return last
            time.sleep(0.05)
        raise AssertionError(f"never came true: {what or expression}; errors: {self.errors}")

    @staticmethod
    def fail(error):
        raise error

    def close(self):
        try:
            if hasattr(self, "connection"):
                self.connection.close()
        finally:
            self.process.kill()
            self.process.wait()
            self.log.close()
            # Its helpers end on their own; what they still write must not fail the test.
            for _ in range(50):
                shutil.rmtree(self.home, ignore_errors=True)
                if not os.path.exists(self.home):
                    break
                time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Chromium(Browser):
    KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, None), "ArrowDown": ("ArrowDown", 40, None), "ArrowUp": ("ArrowUp", 38, None),
            "ArrowLeft": ("ArrowLeft", 37, None), "ArrowRight": ("ArrowRight", 39, None), "Tab": ("Tab", 9, None), " ": ("Space", 32, " ")}

    def __init__(self, scheme=None):
        dark = ["--force-dark-mode"] if scheme == "dark" else []
        self.scheme = scheme
        super().__init__(lambda home: [find("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                                       "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=1280,720", "--disable-dev-shm-usage",
                                       "--remote-debugging-port=0", f"--user-data-dir={home}/profile", *dark, "about:blank"])

    def connect(self):
        def port():
            try:
                with open(os.path.join(self.home, "profile", "DevToolsActivePort"), encoding="utf-8") as file:
                    return int(file.readline())
            except (OSError, ValueError):
                return None
        self.port = self.wait_for(port)
        def page():
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/list", timeout=ANSWER_S) as answer:
                return next((t for t in json.load(answer) if t["type"] == "page"), None)
        found = self.wait_for(page)
        return WebSocket("127.0.0.1", self.port, re.sub(r"^ws://[^/]*", "", found["webSocketDebuggerUrl"]))

    def begin(self):
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.size(1280, 720)
        if self.scheme:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": self.scheme}])

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def on_event(self, method, p):
        if method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(p["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "assert"):
            self.errors.append(json.dumps(p["args"])[:600])
        elif method == "Log.entryAdded" and p["entry"]["level"] == "error":
            self.errors.append(p["entry"]["text"] + " " + p["entry"].get("url", ""))

    def go(self, url):
        self.call("Page.navigate", url=url)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {json.dumps(answer['exceptionDetails'])[:600]}")
        return answer["result"].get("value")

    def press(self, key):
        code, number, text = self.KEYS.get(key, ("", 0, key))
        name = key if key in self.KEYS or len(key) == 1 else code
        down = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=name, code=code, windowsVirtualKeyCode=number, **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, code=code, windowsVirtualKeyCode=number)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


class Firefox(Browser):
    KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowDown": "\ue015", "ArrowUp": "\ue013", "ArrowLeft": "\ue012", "ArrowRight": "\ue014", "Tab": "\ue004"}
    QUIET = ("app.update.auto", "app.normandy.enabled", "browser.safebrowsing.update.enabled", "datareporting.policy.dataSubmissionEnabled",
             "toolkit.telemetry.enabled", "network.captive-portal-service.enabled", "network.connectivity-service.enabled", "extensions.update.enabled",
             "browser.shell.checkDefaultBrowser", "services.settings.enabled")

    def __init__(self, scheme=None):
        def command(home):
            profile = os.path.join(home, "profile")
            os.mkdir(profile)
            with open(os.path.join(profile, "user.js"), "w", encoding="utf-8") as file:
                file.writelines(f'user_pref("{name}", false);\n' for name in self.QUIET)
                file.write('user_pref("browser.startup.homepage_override.mstone", "ignore");\n')
                if scheme:
                    file.write(f'user_pref("layout.css.prefers-color-scheme.content-override", {0 if scheme == "dark" else 1});\n')
            return [find("firefox"), "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"]
        super().__init__(command)

    def connect(self):
        def port():
            with open(self.log.name, encoding="utf-8", errors="replace") as log:
                found = re.search(r"WebDriver BiDi listening on ws://[^:]+:(\d+)", log.read())
            return found and int(found.group(1))
        return WebSocket("127.0.0.1", self.wait_for(port), "/session")

    def begin(self):
        self.call("session.new", capabilities={})
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.size(1280, 720)

    def size(self, width, height):
        self.call("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})

    def on_event(self, method, p):
        if method == "network.beforeRequestSent":
            self.requests.append(p["request"]["url"])
        elif method == "log.entryAdded" and p["level"] == "error":
            self.errors.append(str(p.get("text")))

    def go(self, url):
        self.call("browsingContext.navigate", context=self.context, url=url, wait="none")

    def evaluate(self, expression):
        answer = self.call("script.evaluate", target={"context": self.context}, awaitPromise=True,
                           expression=f"(async () => JSON.stringify(await ({expression})))()")
        if answer["type"] != "success":
            raise AssertionError(f"{expression}: {json.dumps(answer['exceptionDetails'])[:600]}")
        return json.loads(answer["result"]["value"]) if "value" in answer["result"] else None

    def press(self, key):
        value = self.KEYS.get(key, key)
        self.call("input.performActions", context=self.context, actions=[
            {"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]}])

    def type(self, text):
        for character in text:
            self.press(character)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("browsingContext.captureScreenshot", context=self.context)["data"]))


def open_browser(name, scheme=None):
    return {"chromium": Chromium, "firefox": Firefox}[name](scheme)


class OneBrowser:
    """For a TestCase: one browser, started once for all its tests, which are skipped where the machine does not have it."""
    name = None  # whichever there is

    @classmethod
    def setUpClass(cls):
        name = next((n for n in ([cls.name] if cls.name else NAMES) if find(n)), None)
        if not name:
            raise unittest.SkipTest(f"there is {'no ' + cls.name if cls.name else 'neither ' + ' nor '.join(NAMES)} on this machine")
        cls.browser = open_browser(name)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def leave(self):
        """What a page still asks for after its view has gone is none of the next test's."""
        self.browser.go("about:blank")
        self.browser.wait("location.href === 'about:blank'")
