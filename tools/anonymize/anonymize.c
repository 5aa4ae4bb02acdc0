/*
 * anonymize.c: the walk over JSON and text; see anonymize.h. JSON is gone through as bytes, so that what is
 * malformed is rewritten as well, and everything but the words of its strings stays where it is.
 */
#include "tools/anonymize/anonymize_internal.h"

#include <ctype.h>
#include <stdlib.h>

#define PROVED_BYTES_MIN 4
#define DEPTH_MAX        128 /* members of objects deeper than that have no rule */

struct walk {
	struct anonymizer *a;
	struct buf *to; /* NULL: it collects, or, with proves, checks */
	bool proves;
	struct err *err;
	struct slice members[DEPTH_MAX]; /* the last key at each depth */
	size_t depth;
};

static bool is_listed(const char *const *list, struct slice name)
{
	for (; *list; list++) {
		if (slice_is(name, *list))
			return true;
	}
	return false;
}

static int put_plain(const struct walk *w, const char *begin, const char *end)
{
	return w->to && end > begin ? buf_append(w->to, begin, (size_t)(end - begin), w->err) : 0;
}

/* Of a short one nobody knows what it was a part of; addresses are moved among each other. */
static int check_item(const struct anonymizer *a, struct slice item, struct err *err)
{
	const struct word *w = item.len < PROVED_BYTES_MIN ? NULL : words_find(a, item);

	if (!w || !w->pseudonym || w->form == FORM_IPV4)
		return 0;
	return err_set(err, ERR_FAILED, "'%s' of the old tape is left in the new one", w->text);
}

static int take_item(const struct walk *w, struct slice item, enum form form, enum word_place place)
{
	if (w->to)
		return words_put(w->a, item, form, w->to, w->err);
	return w->proves ? check_item(w->a, item, w->err) : words_note(w->a, item, form, place, w->err);
}

static int take_text(const struct walk *w, struct slice text, enum word_place place)
{
	int rc = 0;

	while (text.len && !rc) {
		const struct item item = anonymize_item(text);
		struct slice word = {text.ptr, item.length};

		if (item.decoded_length)
			word = (struct slice){item.decoded, item.decoded_length};
		if (item.form == FORM_PLAIN)
			rc = put_plain(w, text.ptr, text.ptr + item.length);
		else
			rc = take_item(w, word, item.form, place);
		text = (struct slice){text.ptr + item.length, text.len - item.length};
	}
	return rc;
}

/* Of the string that begins there, without quotes. */
static struct slice string_at(const char *at, const char *end)
{
	const char *c = at + 1;

	while (c < end && *c != '"')
		c += *c == '\\' && end - c > 1 ? 2 : 1;
	return (struct slice){at + 1, (size_t)(c - at - 1)};
}

static bool is_key(const char *behind, const char *end)
{
	while (behind < end && isspace((unsigned char)*behind))
		behind++;
	return behind < end && *behind == ':';
}

static int take_string(struct walk *w, struct slice text, bool key)
{
	struct slice none = {0}, *member = w->depth < DEPTH_MAX ? &w->members[w->depth] : &none;

	if (key) {
		*member = text;
		return take_text(w, text, PLACE_NAME);
	}
	if (is_listed(anonymize_kept_members, *member))
		return put_plain(w, text.ptr, text.ptr + text.len);
	return take_text(w, text, is_listed(anonymize_text_members, *member) ? PLACE_SENTENCE : PLACE_NAME);
}

/* An item of an array has the rule of the array. */
static void anonymize_enter(struct walk *w, char bracket)
{
	struct slice member = {0};

	if (bracket == '[' && w->depth < DEPTH_MAX)
		member = w->members[w->depth];
	w->depth++;
	if (w->depth < DEPTH_MAX)
		w->members[w->depth] = member;
}

static int take_json(struct walk *w, struct slice json)
{
	const char *end = json.ptr + json.len, *kept = json.ptr;
	int rc = 0;

	for (const char *at = json.ptr; at < end && !rc;) {
		if (*at == '{' || *at == '[')
			anonymize_enter(w, *at);
		else if ((*at == '}' || *at == ']') && w->depth)
			w->depth--;
		if (*at++ != '"')
			continue;
		rc = put_plain(w, kept, at);
		if (!rc) {
			struct slice text = string_at(at - 1, end);

			kept = text.ptr + text.len;
			at = kept < end ? kept + 1 : end;
			rc = take_string(w, text, is_key(at, end));
		}
	}
	return rc ? rc : put_plain(w, kept, end);
}

int anonymizer_note_json(struct anonymizer *a, struct slice json, struct err *err)
{
	struct walk w = {.a = a, .err = err};

	return json.len ? take_json(&w, json) : 0;
}

int anonymizer_put_json(struct anonymizer *a, struct slice json, struct buf *to, struct err *err)
{
	struct walk w = {.a = a, .to = to, .err = err};

	return json.len ? take_json(&w, json) : 0;
}

int anonymizer_note_text(struct anonymizer *a, struct slice text, struct err *err)
{
	struct walk w = {.a = a, .err = err};

	return take_text(&w, text, PLACE_NAME);
}

int anonymizer_put_text(struct anonymizer *a, struct slice text, struct buf *to, struct err *err)
{
	struct walk w = {.a = a, .to = to, .err = err};

	return take_text(&w, text, PLACE_NAME);
}

/* ---- the proof ---- */

/* Without regard to forms, escapes and members: letters and digits that begin with a letter. */
static int prove_plainly(const struct anonymizer *a, struct slice bytes, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < bytes.len && !rc; i++) {
		size_t begin = i;

		while (i < bytes.len && isalnum((unsigned char)bytes.ptr[i]))
			i++;
		if (i > begin && isalpha((unsigned char)bytes.ptr[begin]) && i - begin < ANONYMIZE_WORD_MAX)
			rc = check_item(a, (struct slice){bytes.ptr + begin, i - begin}, err);
	}
	return rc;
}

int anonymizer_prove_json(struct anonymizer *a, struct slice json, struct err *err)
{
	struct walk w = {.a = a, .proves = true, .err = err};
	int rc = json.len ? take_json(&w, json) : 0;

	return rc ? rc : prove_plainly(a, json, err);
}

int anonymizer_prove_text(struct anonymizer *a, struct slice text, struct err *err)
{
	struct walk w = {.a = a, .proves = true, .err = err};
	int rc = take_text(&w, text, PLACE_NAME);

	return rc ? rc : prove_plainly(a, text, err);
}
