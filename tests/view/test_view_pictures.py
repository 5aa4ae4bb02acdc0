"""The pictures in the README are those of the page as it is, and its modules are what their types say."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import browsers
import screenshots

PICTURE_BYTES = 200_000
TYPES = ["--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "node", "--lib", "es2022,dom,dom.iterable"]


def size_of(path):
    """Width and height of a PNG."""
    with open(path, "rb") as file:
        head = file.read(24)
    return struct.unpack(">II", head[16:24])


class Pictures(unittest.TestCase):
    def test_the_pictures_were_made_of_the_page_as_it_is(self):
        with open(os.path.join(screenshots.HERE, "screenshots.sum"), encoding="utf-8") as file:
            self.assertEqual(file.read().strip(), screenshots.digest(), "run tests/view/screenshots.py, and look at what it made")
        for name in ("timeline.png", "desk.png"):
            path = os.path.join(screenshots.HERE, name)
            self.assertEqual(size_of(path), (1280, 720))
            self.assertLessEqual(os.path.getsize(path), PICTURE_BYTES)

    def test_the_script_that_makes_them_still_does(self):
        if not browsers.find("chromium"):
            self.skipTest("there is no chromium on this machine")
        folder = tempfile.mkdtemp(prefix="kubetape-pictures-")
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run([sys.executable, os.path.join(screenshots.HERE, "screenshots.py"), folder], check=True, timeout=300)
        for name in ("timeline.png", "desk.png"):
            self.assertEqual(size_of(os.path.join(folder, name)), (1280, 720))

    def test_the_modules_are_what_their_types_say(self):
        if not shutil.which("tsc"):
            self.skipTest("there is no tsc on this machine")
        modules = [os.path.join(screenshots.PAGE, name) for name in os.listdir(screenshots.PAGE) if name.endswith(".js")]
        done = subprocess.run(["tsc", *TYPES, *modules], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.stdout, "")
