"""tests/lint/lint.py: what it must find."""
import importlib.util
import os
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

HEAD = "int x_open(const char *path,\n\tstruct x **ret, struct err *err)\n{\n"


def load_lint():
    spec = importlib.util.spec_from_file_location("lint", os.path.join(ROOT, "tests", "lint", "lint.py"))
    lint = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lint)
    return lint


class Lint(unittest.TestCase):
    def findings_of(self, text):
        found = []
        load_lint().check_c("schema/tape/x.c", text.split("\n"), found)
        return found

    def test_an_error_that_a_function_was_given_is_not_read(self):
        for line in ("return err->code;", "if (err->code == ERR_IO)", "puts(err->text);", "why = *err;", "*err = why;"):
            with self.subTest(line=line):
                found = self.findings_of(f"{HEAD}\tint rc = 0;\n\n\t{line}\n}}\n")
                self.assertEqual(1, len(found), found)
                self.assertTrue(found[0].startswith("schema/tape/x.c:6: err may be NULL"), found[0])

    def test_an_error_may_be_passed_on_and_own_ones_be_read(self):
        for line in ("return open_it(path, ret, err);", "return err_set(err, ERR_IO, \"*err\");", "return own.code;",
                     "/* never err->code */", "int (*each)(struct x *x, struct err *err);"):
            with self.subTest(line=line):
                self.assertEqual([], self.findings_of(f"{HEAD}\tstruct err own;\n\n\t{line}\n}}\n"))

    def test_an_error_that_is_const_is_there_to_be_read(self):
        self.assertEqual([], self.findings_of("static void x_tell(const struct err *err)\n{\n\tputs(err->text);\n}\n"))

    def test_a_room_that_the_drawings_lack_is_told(self):
        lint, found = load_lint(), []
        lint.MAY_INCLUDE["replayer/attic"] = []
        lint.check_drawings(found)
        self.assertEqual(["ARCHITECTURE.md: the drawings of the floors lack replayer/attic"], found)

    def test_a_header_that_nobody_else_includes_is_for_those_that_it_names(self):
        lint, found = load_lint(), []
        files = {"schema/base/x.h": "/* x.h: for\n * x_*.c. Nobody\n * else includes it. */\n",
                 "schema/base/x_a.c": '#include "schema/base/x.h"\n', "schema/base/y.c": '#include "schema/base/x.h"\n'}
        with tempfile.TemporaryDirectory() as lint.ROOT:
            os.makedirs(os.path.join(lint.ROOT, "schema", "base"))
            for path, text in files.items():
                with open(os.path.join(lint.ROOT, path), "w", encoding="utf-8") as file:
                    file.write(text)
            lint.check_internals(list(files), found)
        self.assertEqual(["schema/base/y.c: schema/base/x.h is not for it: its first comment does not name y.c"], found)


if __name__ == "__main__":
    unittest.main()
