"""Values of fields are shown and compared as JSON has them: by log, diff-state, changes and jdiff."""
import json
import re
import unittest

from tapes import TapeTest

BIG = 2 ** 80 + 1


def line(seconds, rv, values):
    """A version of one ConfigMap whose bytes are exactly these."""
    return ('{"type":"%s","time_ns":%d,"stream":{"version":"v1","resource":"configmaps","kind":"ConfigMap","namespaced":true},'
            '"object":{"kind":"ConfigMap","metadata":{"name":"c","namespace":"shop","uid":"u","resourceVersion":"%d"},%s}}' %
            ("MODIFIED" if seconds else "ADDED", (1700000000 + seconds) * 10**9, rv, values))


class Values(TapeTest):
    rows = [
        line(0, 1, r'"ready":false,"none":0,"n":1,"r":1.50,"big":%d,"ns":1700000000000000000,"s":"1","o":{"a":[true]},"gone":null' % BIG),
        line(1, 2, r'"ready":true,"none":null,"n":1.0,"r":1e3,"big":%d,"ns":1700000000000000001,"s":"true","o":true' % (BIG + 2)),
    ]
    WANT = {"ready": ("false", "true"), "none": ("0", "null"), "n": ("1", "1.0"), "r": ("1.50", "1e3"), "big": (str(BIG), str(BIG + 2)),
            "ns": ("1700000000000000000", "1700000000000000001"), "s": ('"1"', '"true"'), "o": ('{"a":[true]}', "true"), "gone": ("null", None)}

    def lines_of(self, text):
        return dict(re.findall(r"^ {4}[-+~] (\S+): (.*)$", text, re.MULTILINE))

    def test_log_and_diff_state_show_what_json_says(self):
        want = {k: (f"{old} -> {new}" if new is not None else old).replace('"1"', "1").replace('"true"', "true")
                for k, (old, new) in self.WANT.items()}
        for args in (["log", self.tape, "u"], ["diff-state", self.tape, "1", "2"]):
            self.assertEqual(self.lines_of(self.run_tape(*args).stdout), want)

    def test_json_output_holds_the_values_themselves(self):
        for args in (["log", self.tape, "u", "--json"], ["diff-state", self.tape, "1", "2", "--json"]):
            rows = [json.loads(row, parse_float=str) for row in self.run_tape(*args).stdout.splitlines()]
            got = {r["field"]: (r["old"], r["new"]) for r in rows if r["op"] == "replace" or r["op"] == "remove"}
            self.assertEqual(got, {k: tuple(json.loads(v or "null", parse_float=str) for v in pair) for k, pair in self.WANT.items()})

    def test_changes_keep_types_and_digits(self):
        rows = {r["field"]: (r["old"], r["new"]) for r in self.query("SELECT field, old, new FROM changes WHERE type = 'MODIFIED'")}
        self.assertEqual(rows, {"ready": ("false", "true"), "none": (0, None), "n": (1, 1.0), "r": (1.5, 1000.0), "big": (str(BIG), str(BIG + 2)),
                                "ns": (1700000000000000000, 1700000000000000001), "s": ("1", "true"), "o": ('{"a":[true]}', "true"),
                                "gone": (None, None)})
        types = self.query("SELECT typeof(old) AS o, typeof(new) AS n FROM changes WHERE field IN ('n', 'big') ORDER BY field")
        self.assertEqual(types, [{"o": "text", "n": "text"}, {"o": "integer", "n": "real"}])

    def test_changes_have_the_json_itself_in_hidden_columns(self):
        rows = {r["field"]: (r["old_json"], r["new_json"]) for r in self.query(
            "SELECT field, old_json, new_json FROM changes WHERE type = 'MODIFIED'")}
        self.assertEqual(rows, self.WANT)
        self.assertNotIn("old_json", self.query("SELECT * FROM changes WHERE type = 'MODIFIED'")[0])


class Escapes(TapeTest):
    """The same text in other escapes, the same object in another order or with other white space, is no change."""
    rows = [
        line(0, 1, r'"a":"\u65e5\u672c","b":"x\/y","\u0063":"\ud83d\ude00","l":["\u00e9","e"],"i":[{"name":"\u006e","v":1}],"o":{"x": 1}'),
        line(1, 2, '"a":"\u65e5\u672c","b":"x/y","c":"\U0001f600","l":[ "\u00e9", "e" ],"i":[{"name":"n","v":1}],"o":{"x":1}'),
        line(2, 3, r'"a":"日\u672c!","b":"x\/y","c":"\ud83d\ude00","l":["\u00e9","e"],"i":[{"v":2,"name":"\u006e"}],"o":{ "x":1}'),
    ]

    def test_only_what_means_something_else_is_a_change(self):
        rows = self.query("SELECT seq, path, field, old, new FROM changes WHERE type = 'MODIFIED' ORDER BY seq, path")
        self.assertEqual([tuple(r.values()) for r in rows], [(3, "$.a", "a", "\u65e5\u672c", "\u65e5\u672c!"), (3, "$.i[0].v", "i[n].v", 1, 2)])
        self.assertEqual(self.run_tape("diff-state", self.tape, "1", "2", "--json").stdout.count("\n"), 1)
        self.assertNotIn("~ a", self.run_tape("diff-state", self.tape, "1", "2").stdout)
        log = self.run_tape("log", self.tape, "u", "--all-fields").stdout
        self.assertEqual(re.findall(r"^ {4}~ (.*)$", log, re.MULTILINE),
                         ["metadata.resourceVersion: 1 -> 2", "metadata.resourceVersion: 2 -> 3", "a: \u65e5\u672c -> \u65e5\u672c!", "i[n].v: 1 -> 2"])


if __name__ == "__main__":
    unittest.main()
