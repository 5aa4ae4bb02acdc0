"""What every command says of itself, and what it says to a command line that it does not understand."""
import re
import subprocess
import unittest

from tapes import KUBETAPE

WIDTH = 100
TAPE = "tests/tapes/rolling-update.tape"


def run(*args):
    return subprocess.run([KUBETAPE, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def commands():
    return run("help", "--format=names").stdout.split()


def help_of(command):
    return run(command, "--help").stdout


def options_in(text):
    """The long names of the option rows of a help text, in order."""
    return re.findall(r"^ {2}(?:-\w,| {3}) --([\w-]+)", text.split("\noptions:\n")[1], re.MULTILINE)


class Help(unittest.TestCase):
    def test_every_command_is_in_the_list_of_commands_with_a_line_of_its_own(self):
        listed = re.findall(r"^  (\S+) +\S", run("--help").stdout, re.MULTILINE)
        self.assertEqual(listed, commands())
        self.assertIn("query", listed)

    def test_every_command_stands_in_the_readme(self):
        with open("README.md", encoding="utf-8") as f:
            named = set(re.findall(r"`(?:kubetape )?([a-z-]+)\b", f.read().split("\n## The commands\n")[1].split("\n## ")[0]))
        self.assertEqual(set(commands()) - named, {"help"}, "README.md, 'The commands', lacks a row")

    def test_help_is_the_same_in_all_the_ways_to_ask_for_it(self):
        for name in commands():
            with self.subTest(command=name):
                asked = [run(name, "--help"), run(name, "-h"), run("help", name)]
                self.assertEqual({(a.returncode, a.stderr) for a in asked}, {(0, "")})
                self.assertEqual(len({a.stdout for a in asked}), 1)
        asked = [run("--help"), run("-h"), run("help")]
        self.assertEqual(len({(a.returncode, a.stdout, a.stderr) for a in asked}), 1)

    def test_help_shows_every_option_once_and_each_has_a_line_to_explain_it(self):
        for name in commands():
            with self.subTest(command=name):
                found = options_in(help_of(name))
                completed = run("__complete", name, "--").stdout
                offered = re.findall(r"^--([\w-]+)\t\S", completed, re.MULTILINE)
                self.assertEqual(found, offered)
                self.assertEqual(len(found), len(set(found)))

    def test_help_says_once_that_an_option_may_be_repeated(self):
        for name in commands():
            self.assertNotIn("(may be repeated) (may be repeated)", " ".join(help_of(name).split()), name)

    def test_help_fits_into_100_columns(self):
        for text in (run("--help").stdout, *map(help_of, commands())):
            wide = [line for line in text.splitlines() if len(line) > WIDTH]
            self.assertEqual(wide, [])

    def test_help_begins_with_the_usage_and_ends_with_the_help_option(self):
        for name in commands():
            with self.subTest(command=name):
                lines = help_of(name).splitlines()
                self.assertRegex(lines[0], rf"^usage: kubetape {name} \[OPTION\]\.\.\.( |$)")
                self.assertEqual(lines[1], "")
                self.assertIn("--help", lines[-1])

    def test_an_explanation_is_lower_case_without_a_full_stop(self):
        for name in commands():
            completed = run("__complete", name, "--").stdout.splitlines()
            for option, help_text in (line.split("\t") for line in completed if "\t" in line):
                with self.subTest(command=name, option=option):
                    self.assertNotRegex(help_text, r"^[A-Z][a-z]|\.$")

    def test_the_version_says_which_commit_which_formats_and_which_libraries(self):
        for asked in (run("--version"), run("version")):
            program, commit, formats, libraries = asked.stdout.splitlines()
            self.assertRegex(program, r"^kubetape [0-9]+\.[0-9]+\.[0-9]+$")
            self.assertRegex(commit, r"^commit: ([0-9a-f]{12}\+?|unknown)$")
            self.assertRegex(formats, r"^formats: tape [0-9]+, run [0-9]+$")
            for name in ("curl", "OpenSSL", "SQLite", "zstd"):
                self.assertRegex(libraries, rf"\b{name} [0-9]+\.[0-9]+")
            self.assertEqual(asked.returncode, 0)


class Refusals(unittest.TestCase):
    def assertRefused(self, done, sentence):
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, sentence + "\n")

    def test_no_command_prints_the_commands_and_fails(self):
        done = run()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, run("--help").stdout)

    def test_an_unknown_command_is_refused_in_one_sentence_that_names_the_help(self):
        self.assertRefused(run("rewind", "x.tape"), "kubetape: unknown command 'rewind'; see 'kubetape --help'")
        self.assertRefused(run("help", "rewind"), "kubetape help: unknown command 'rewind'; see 'kubetape --help'")

    def test_an_unknown_option_is_refused_in_one_sentence_that_names_the_help(self):
        for name in commands():
            with self.subTest(command=name):
                see = f"; see 'kubetape {name} --help'"
                self.assertRefused(run(name, "--nonesuch"), f"kubetape {name}: unknown option '--nonesuch'{see}")
                self.assertRefused(run(name, "--nonesuch=1"), f"kubetape {name}: unknown option '--nonesuch=1'{see}")
                self.assertRefused(run(name, "-Z"), f"kubetape {name}: unknown option '-Z'{see}")

    def test_what_was_probably_meant_is_named(self):
        self.assertRefused(run("recrod", "pods"), "kubetape: unknown command 'recrod'; did you mean 'record'?")
        self.assertRefused(run("diffstate", "x"), "kubetape: unknown command 'diffstate'; did you mean 'diff-state'?")
        self.assertRefused(run("help", "qery"), "kubetape help: unknown command 'qery'; did you mean 'query'?")
        self.assertRefused(run("get", "--namspace=shop"),
                           "kubetape get: unknown option '--namspace=shop'; did you mean '--namespace'?")

    def test_options_may_stand_before_the_command(self):
        want = run("get", TAPE, "pods", "-n", "shop", "-o", "name")
        self.assertEqual((want.returncode, want.stdout[:4]), (0, "pod/"))
        for words in (["-n", "shop", "get", TAPE, "pods", "-o", "name"], ["-nshop", "-A", "-oname", "get", TAPE, "pods"],
                      ["--namespace=shop", "--output", "name", "get", TAPE, "pods"], ["-n=shop", "-o=name", "get", TAPE, "pods"]):
            self.assertEqual(run(*words).stdout, want.stdout, words)
        self.assertIn("found 0 operands", run("-n", "get", "get").stderr)

    def test_two_dashes_end_the_options_of_a_command_that_runs_none(self):
        self.assertEqual(run("info", "--", TAPE).stdout, run("info", TAPE).stdout)
        self.assertIn("found 0 operands", run("info", "--").stderr)
        self.assertIn("cannot open tape '--json'", run("info", "--", "--json").stderr)

    def test_options_before_no_command_are_refused(self):
        for words in (["-n", "shop"], ["-n", "shop", TAPE, "get"], ["--nosuch", "get", TAPE], ["-n", "get"], ["--json=1", "info", TAPE]):
            self.assertRefused(run(*words), f"kubetape: no command is named that takes the option '{words[0]}' and what stands with it; "
                               "see 'kubetape --help'")

    def test_a_short_option_takes_its_value_behind_an_equals_sign(self):
        for words in (["-o=json"], ["-ojson"], ["-o", "json"], ["--output=json"]):
            self.assertIn('"kind": "List"', run("get", TAPE, "cm", *words).stdout, words)
        self.assertRefused(run("get", TAPE, "cm", "-o", "=json"),
                           "kubetape get: option '--output' wants one of table|wide|name|yaml|json|jsonpath=TEMPLATE|custom-columns=COLUMNS, found '=json'")

    def test_sizes_have_units(self):
        for size in ("600k", "16Gi", "1.5G", "16GiB", "512M", "512", "1024KB"):
            self.assertIn("no tape to make", run("repack", "--extent-size", size, TAPE).stderr, size)
        self.assertRefused(run("repack", "--best", "--level", "3", TAPE, "-o", "new"), "kubetape repack: '--best' chooses '--level' and '--block-size' itself")
        for size in ("1.5", "G", "1.G", "-1", "1X", "1GG", "1e3", ".5G", ""):
            self.assertRefused(run("repack", "--extent-size", size, TAPE), "kubetape repack: option '--extent-size': expected a size such as "
                               f"600k, 16Gi or 1.5G, found '{size}'")
        self.assertRefused(run("repack", "--extent-size", "9000000000G", TAPE),
                           "kubetape repack: option '--extent-size': a size of '9000000000G' is too large")
        for asked in (run("repack", "--help"), run("help", "record", "--format=man")):
            self.assertIn("A SIZE is a number of bytes", asked.stdout)

    def test_a_segment_is_not_a_tape(self):
        for name in ("info", "verify", "gaps", "replay"):
            self.assertIn(f"'{TAPE}/seg-000001.db' is a segment: a tape is the folder, here '{TAPE}'", run(name, TAPE + "/seg-000001.db").stderr)
        self.assertIn("'/etc/passwd' is not a tape: a tape is a folder", run("info", "/etc/passwd").stderr)

    def test_a_letter_that_is_unknown_is_named_even_behind_others(self):
        self.assertRefused(run("record", "-AZ"), "kubetape record: unknown option '-Z'; see 'kubetape record --help'")

    def test_an_option_without_its_value_is_named(self):
        see = "; see 'kubetape query --help'"
        for word in ("-f", "--file"):
            self.assertRefused(run("query", "x.tape", word), "kubetape query: option '--file' wants a value" + see)

    def test_a_value_for_an_option_that_has_none_is_refused(self):
        self.assertRefused(run("info", "--json=yes"),
                           "kubetape info: option '--json' takes no value; see 'kubetape info --help'")

    def test_a_word_that_is_no_choice_is_refused_with_the_choices(self):
        self.assertRefused(run("query", "x.tape", "--format=xml"),
                           "kubetape query: option '--format' wants one of table|json|ndjson|csv, found 'xml'")


if __name__ == "__main__":
    unittest.main()
