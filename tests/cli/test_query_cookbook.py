"""Every question of the cookbook has the answer that stands there.

`KUBETAPE_UPDATE_COOKBOOK=1 tests/run_python.py test_query_cookbook` writes the answers anew; read what it changed.
"""
import os
import re
import unittest

from tapes import NODES, PODS, SECOND, START, TapeTest, event, pod

COOKBOOK = "schema/sql/COOKBOOK.md"
BUNDLED = "tests/tapes/rolling-update.tape"
NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": "n", "resourceVersion": "5"}}
RECIPE = re.compile(r"^### (?P<question>.*)\n(?P<text>(?:(?!```).*\n)*)```sql(?P<tape>.*)\n(?P<sql>(?:(?!```).*\n)*)```\n"
                    r"(?:```\n(?P<answer>(?:(?!```).*\n)*)```\n)?", re.M)


class Cookbook(TapeTest):
    rows = [
        event(0, "ADDED", NODE, stream=NODES, origin="list"),
        event(0, "ADDED", pod("cache-0", "c1", 10), origin="list"),
        event(0, "ADDED", pod("web-0", "w1", 11), origin="list"),
        event(30, "MODIFIED", pod("web-0", "w1", 12)),
        event(45, "DELETED", pod("cache-0", "c1", 20), origin="inferred", rv="20"),
        event(45, "ADDED", pod("web-0", "w2", 18), origin="relist"),
        event(100, "MODIFIED", pod("web-0", "w2", 25)),
        {"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": START + 30 * SECOND,
         "end_ns": START + 45 * SECOND, "duration_ns": 15 * SECOND, "begin_seq": 4, "end_seq": 6, "from_rv": "12",
         "to_rv": "20", "recreated": 1},
        {"gap": "goaway", "how_ended": "rewatch", "stream": NODES, "begin_ns": START + 60 * SECOND,
         "end_ns": START + 61 * SECOND, "duration_ns": SECOND, "begin_seq": 6, "end_seq": 6},
        {"missed": "deleted", "gap_id": 1, "stream": PODS, "namespace": "shop", "name": "cache-0", "uid": "c1"},
        {"missed": "recreated", "gap_id": 1, "stream": PODS, "namespace": "shop", "name": "web-0", "uid": "w2",
         "old_uid": "w1"},
    ]

    def answer(self, recipe):
        tape = self.tape if recipe["tape"].strip() == "gaps" else BUNDLED
        done = self.run_tape("query", tape, recipe["sql"])
        self.assertEqual((done.returncode, done.stderr), (0, ""), recipe["question"])
        return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())

    def test_every_question_has_the_answer_that_stands_there(self):
        with open(COOKBOOK) as f:
            text = f.read()
        recipes = list(RECIPE.finditer(text))
        self.assertGreaterEqual(len(recipes), 25)
        self.assertEqual(len(recipes), text.count("\n### "))
        answers = {r["question"]: self.answer(r) for r in recipes}
        if os.environ.get("KUBETAPE_UPDATE_COOKBOOK"):
            with open(COOKBOOK, "w") as f:
                f.write(RECIPE.sub(lambda r: "### {}\n{}```sql{}\n{}```\n```\n{}```\n".format(
                    r["question"], r["text"], r["tape"], r["sql"], answers[r["question"]]), text))
            return
        for recipe in recipes:
            self.assertEqual(recipe["answer"], answers[recipe["question"]], recipe["question"])


if __name__ == "__main__":
    unittest.main()
