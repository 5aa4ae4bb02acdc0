"""Clients that mean no good, or know no better, and what others notice of them."""

import json
import subprocess
import unittest

from writing import APPLY_PATCH, MAPS, MERGE_PATCH, PROGRAM, Writes, config_map

# What a name may hold that a header may not, as JSON writes it.
ODD = ("\\u007f", "\x7f", "\\u0085", "\\n", "\\r\\nX-Injected: 1", "\\u001f", "\\\"", "\\\\", "\\ud83d\\ude00")


class Headers(Writes):

	def ask(self, method, target, body, content_type="application/json"):
		status, headers, _ = self.server.request(method, target, {**PROGRAM, "Content-Type": content_type}, body.encode())
		self.assertNotIn("X-Injected", headers)
		return status, headers.get("Warning")

	def test_names_of_unknown_fields_cannot_spoil_the_header_that_warns_of_them(self):
		self.start("--write", "overlay")
		for i, odd in enumerate(ODD):
			named = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x%d"},"z%sz":1}' % (i, odd)
			twice = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"y%d"},"data":{"z%sz":"1","z%sz":"2"}}' % (i, odd, odd)
			for status, warning in (self.ask("POST", MAPS, named), self.ask("POST", MAPS + "?fieldValidation=Warn", twice),
					self.ask("PATCH", MAPS + "/x%d" % i, '{"a%s":1}' % odd, MERGE_PATCH),
					self.ask("PATCH", MAPS + "/x%d?fieldManager=m&force=true" % i, named, APPLY_PATCH)):
				self.assertIn(status, (200, 201), odd)
				self.assertRegex(warning, r'^299 - "[^\x00-\x1f\x7f]*"$', odd)

	def test_nor_over_http2(self):
		self.start("--write", "overlay")
		body = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"z\\u007fz":1}'
		done = subprocess.run(["curl", "-sS", "--http2-prior-knowledge", "--noproxy", "*", "-D", "-", "-o", "/dev/null", "-H",
			"Content-Type: application/json", "-d", body, "http://127.0.0.1:%d%s" % (self.server.port, MAPS)],
			capture_output=True, text=True, timeout=60, check=True)
		self.assertRegex(done.stdout, "^HTTP/2 201")
		self.assertIn('warning: 299 - "unknown field \\"z z\\""', done.stdout)

	def test_quotes_in_a_warning_are_told_apart_from_those_around_it(self):
		self.start("--write", "overlay")
		body = json.dumps({**config_map("q"), 'a"b\\c': 1})
		self.assertEqual(self.ask("POST", MAPS, body), (201, r'299 - "unknown field \"a\"b\\c\""'))


if __name__ == "__main__":
	unittest.main()
