/* anonymize_words.c: which word becomes what; see anonymize.h. */
#include "replayer/protobuf/protobuf.h"
#include "schema/base/limits.h"
#include "tools/anonymize/anonymize_internal.h"

#include <ctype.h>
#include <stdlib.h>

#define WORDS_MAX    4000000 /* of a tape; a word takes some hundred bytes */
#define TRIES_MAX    64      /* before a pseudonym becomes longer than its word */
#define DIGEST_BYTES 32

/* ---- lists ---- */

static void put_owned(struct anonymizer *a, struct text_map *to, struct slice word)
{
	char *text = slice_dup(word);

	for (char *c = text; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!*text || text_map_get(to, text)) {
		free(text);
		return;
	}
	a->owned = xgrow(a->owned, a->owned_count, sizeof(*a->owned));
	a->owned[a->owned_count++] = text;
	text_map_put(to, text, a);
}

/* Each run of letters and digits. */
static void put_words(struct anonymizer *a, struct text_map *to, const char *text)
{
	while (*text) {
		size_t len = 0;

		while (isalnum((unsigned char)text[len]))
			len++;
		put_owned(a, to, (struct slice){text, len});
		text += len ? len : 1;
	}
}

struct anonymizer *anonymizer_new(struct redactor *redactor)
{
	struct anonymizer *a = xcalloc(1, sizeof(*a));

	a->redactor = redactor;
	for (const char *const *words = anonymize_words; *words; words++)
		put_words(a, &a->stays, *words);
	for (const char *const *words = anonymize_english; *words; words++)
		put_words(a, &a->english, *words);
	for (size_t i = 0; protobuf_name_at(i); i++)
		put_words(a, &a->stays, protobuf_name_at(i));
	return a;
}

void anonymizer_keep(struct anonymizer *a, const char *words)
{
	put_words(a, &a->stays, words);
}

void anonymizer_free(struct anonymizer *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->count; i++) {
		free(a->list[i]->text);
		free(a->list[i]->pseudonym);
		free(a->list[i]);
	}
	for (size_t i = 0; i < a->owned_count; i++)
		free(a->owned[i]);
	free(a->list);
	free(a->owned);
	text_map_release(&a->words);
	text_map_release(&a->taken);
	text_map_release(&a->stays);
	text_map_release(&a->english);
	redactor_close(a->redactor);
	free(a);
}

/* ---- collecting ---- */

/* Small letters; a text of an item is short. */
static char *key_of(struct slice text, char to[128])
{
	size_t len = text.len < 127 ? text.len : 127;

	for (size_t i = 0; i < len; i++)
		to[i] = (char)tolower((unsigned char)text.ptr[i]);
	to[len] = 0;
	return to;
}

struct word *words_find(const struct anonymizer *a, struct slice text)
{
	char key[128];

	return text_map_get(&a->words, key_of(text, key));
}

int words_note(
	struct anonymizer *a, struct slice text, enum form form, enum word_place place, struct err *err)
{
	char key[128];
	struct word *w = text_map_get(&a->words, key_of(text, key));

	if (!w && a->count == WORDS_MAX)
		return err_set(err, ERR_TOO_LARGE, "the tape has more than %d different words", WORDS_MAX);
	if (!w) {
		w = xcalloc(1, sizeof(*w));
		*w = (struct word){.text = xstrdup(key), .form = form};
		a->list = xgrow(a->list, a->count, sizeof(*a->list));
		a->list[a->count++] = w;
		text_map_put(&a->words, w->text, w);
	}
	w->in_name = w->in_name || place == PLACE_NAME;
	return 0;
}

/* ---- pseudonyms ---- */

/* Bytes that depend on the key, the word, the try and the place alone. */
struct source {
	struct anonymizer *a;
	const struct word *w;
	unsigned try;
	size_t at;
	unsigned char bytes[DIGEST_BYTES];
};

static int next_byte(struct source *s, unsigned *ret, struct err *err)
{
	if (s->at % DIGEST_BYTES == 0) {
		char *text = xasprintf("%s %u %zu", s->w->text, s->try, s->at);
		int rc = redactor_digest(s->a->redactor, slice_of(text), s->bytes, err);

		free(text);
		if (rc)
			return rc;
	}
	*ret = s->bytes[s->at++ % DIGEST_BYTES];
	return 0;
}

static bool is_hex_word(const char *text)
{
	size_t digits = 0, len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		if (!isxdigit((unsigned char)text[i]))
			return false;
		digits += isdigit((unsigned char)text[i]) != 0;
	}
	return digits && len >= 6;
}

/* Consonants and vowels by turns are read more easily; hexadecimal digits stay such. */
static char letter(bool hex, bool plain, size_t at, unsigned byte)
{
	static const char consonants[] = "bdfgklmnprstvz", vowels[] = "aeiou";

	if (hex)
		return (char)('a' + byte % 6);
	if (plain)
		return (char)('a' + byte % 26);
	return at % 2 ? vowels[byte % (sizeof(vowels) - 1)] : consonants[byte % (sizeof(consonants) - 1)];
}

/* A number that does not begin with 0 stays one. */
static char digit(const char *text, size_t at, unsigned byte)
{
	return (char)(at || *text == '0' ? '0' + byte % 10 : '1' + byte % 9);
}

static int make_word(struct source *s, struct buf *to, struct err *err)
{
	bool hex = is_hex_word(s->w->text), plain = s->try > TRIES_MAX / 4;
	size_t more = s->try > TRIES_MAX ? s->try / TRIES_MAX : 0, place = 0;
	unsigned byte = 0;
	int rc = 0;

	for (const char *c = s->w->text; *c && !rc; c++) {
		if (((unsigned char)*c & 0xc0) == 0x80)
			continue; /* the rest of a character */
		rc = next_byte(s, &byte, err);
		if (!rc)
			rc = buf_printf(to, err, "%c",
				isdigit((unsigned char)*c) ? digit(s->w->text, (size_t)(c - s->w->text), byte)
							   : letter(hex, plain, place, byte));
		place++;
	}
	for (; more && !rc; more--) {
		rc = next_byte(s, &byte, err);
		if (!rc)
			rc = buf_printf(to, err, "%c", letter(false, true, 0, byte));
	}
	return rc;
}

/* Version and variant of a UUID stay, and so do "::" and groups that are 0. */
static bool stays_in_hex(const struct word *w, size_t at)
{
	const char *text = w->text;

	if (!isxdigit((unsigned char)text[at]))
		return true;
	if (w->form == FORM_UUID)
		return at == 14 || at == 19;
	return text[at] == '0' && (at == 0 || text[at - 1] == ':') && (text[at + 1] == ':' || !text[at + 1]);
}

static int make_hex(struct source *s, struct buf *to, struct err *err)
{
	unsigned byte = 0;
	int rc = 0;

	for (size_t i = 0; s->w->text[i] && !rc; i++) {
		if (stays_in_hex(s->w, i)) {
			rc = buf_append(to, &s->w->text[i], 1, err);
			continue;
		}
		rc = next_byte(s, &byte, err);
		if (!rc)
			rc = buf_printf(to, err, "%c", "0123456789abcdef"[byte % 16]);
	}
	return rc;
}

/* How far an octet moves: the same for all addresses of one network. */
static int octet_shift(struct anonymizer *a, const char *text, size_t prefix, unsigned *ret, struct err *err)
{
	unsigned char bytes[DIGEST_BYTES];
	char *network = xasprintf("network %.*s", (int)prefix, text);
	int rc;

	for (char *c = network; *c; c++)
		*c = *c == '-' ? '.' : *c;
	rc = redactor_digest(a->redactor, slice_of(network), bytes, err);
	free(network);
	*ret = bytes[0];
	return rc;
}

/* 0 and 255 mean something. */
static unsigned move_octet(unsigned octet, unsigned shift)
{
	return octet == 0 || octet == 255 ? octet : (octet - 1 + shift) % 254 + 1;
}

/* It becomes one that no address of the old tape begins with: so none is the address of another machine. */
static unsigned first_octet(struct anonymizer *a, unsigned octet)
{
	unsigned to = a->octets[octet];

	return to ? to : octet;
}

static int make_ipv4(struct source *s, struct buf *to, struct err *err)
{
	const char *text = s->w->text, *at = text;
	int rc = 0;

	for (size_t i = 0; i < 4 && !rc; i++) {
		char *end;
		unsigned octet = (unsigned)strtoul(at, &end, 10), shift = 0;

		rc = octet_shift(s->a, text, (size_t)(at - text), &shift, err);
		octet = i ? move_octet(octet, shift) : first_octet(s->a, octet);
		if (!rc)
			rc = buf_printf(to, err, "%u%.1s", octet, i < 3 ? end : "");
		at = i < 3 ? end + 1 : end;
	}
	return rc;
}

static int anonymize_words_make(struct source *s, struct buf *to, struct err *err)
{
	buf_clear(to);
	s->at = 0;
	return s->w->form == FORM_WORD   ? make_word(s, to, err)
	       : s->w->form == FORM_IPV4 ? make_ipv4(s, to, err)
					 : make_hex(s, to, err);
}

/* Not a word of the old tape, nor another one's pseudonym, nor one that means something. */
static bool is_free(const struct anonymizer *a, const char *text)
{
	return !text_map_get(&a->words, text) && !text_map_get(&a->taken, text) &&
	       !text_map_get(&a->stays, text) && !text_map_get(&a->english, text);
}

/* The address of nobody in particular: 127.0.0.1, ::1, 0.0.0.0. */
static bool is_special(const struct word *w)
{
	const char *text = w->text;

	if (w->form == FORM_IPV4)
		return strncmp(text, "127.", 4) == 0 || strncmp(text, "0.", 2) == 0 ||
		       strncmp(text, "255.", 4) == 0;
	return w->form == FORM_IPV6 && strspn(text, ":0") + 1 >= strlen(text);
}

static int choose_one(struct anonymizer *a, struct word *w, struct buf *scratch, struct err *err)
{
	struct source s = {.a = a, .w = w};
	int rc;

	w->stays = is_special(w) || text_map_get(&a->stays, w->text) ||
		   (!w->in_name && text_map_get(&a->english, w->text));
	if (w->stays)
		return 0;
	do {
		rc = anonymize_words_make(&s, scratch, err);
		if (!rc)
			rc = buf_append(scratch, "", 1, err);
		if (rc)
			return rc;
	} while (!is_free(a, scratch->ptr) && s.try++ < 100 * TRIES_MAX && w->form != FORM_IPV4);
	w->pseudonym = xstrdup(scratch->ptr);
	text_map_put(&a->taken, w->pseudonym, w);
	return 0;
}

/* Which first octets addresses have, and which are free for them. */
static void choose_octets(struct anonymizer *a)
{
	bool used[256] = {true};
	unsigned next = 11;

	for (size_t i = 0; i < a->count; i++) {
		if (a->list[i]->form == FORM_IPV4)
			used[strtoul(a->list[i]->text, NULL, 10) & 255] = true;
	}
	for (unsigned octet = 1; octet < 255; octet++) {
		if (!used[octet] || octet == 127)
			continue;
		while (next < 223 && (used[next] || next == 127))
			next++;
		a->octets[octet] = (unsigned char)(next < 223 ? next++ : octet);
	}
}

int anonymizer_choose(struct anonymizer *a, struct err *err)
{
	struct buf scratch;
	int rc = 0;

	buf_init(&scratch, LIMIT_NAME_BYTES);
	choose_octets(a);
	for (size_t i = 0; i < a->count && !rc; i++)
		rc = choose_one(a, a->list[i], &scratch, err);
	buf_release(&scratch);
	return rc;
}

/* ---- rewriting ---- */

/* UUIDs alone need not be collected before: no sentence has one by chance. */
static int find_or_note(
	struct anonymizer *a, struct slice text, enum form form, struct word **ret, struct err *err)
{
	struct buf scratch;
	int rc;

	*ret = words_find(a, text);
	if (*ret)
		return 0;
	if (form != FORM_UUID)
		return err_set(err, ERR_FAILED, "'%.*s' was not on the tape when its words were collected",
			(int)text.len, text.ptr);
	rc = words_note(a, text, form, PLACE_NAME, err);
	if (rc)
		return rc;
	*ret = words_find(a, text);
	buf_init(&scratch, LIMIT_NAME_BYTES);
	rc = choose_one(a, *ret, &scratch, err);
	buf_release(&scratch);
	return rc;
}

/* Capitals where the word had them. */
int words_put(struct anonymizer *a, struct slice text, enum form form, struct buf *to, struct err *err)
{
	size_t begin = to->len;
	struct word *w;
	int rc = find_or_note(a, text, form, &w, err);

	if (rc)
		return rc;
	if (!w->pseudonym)
		return buf_append(to, text.ptr, text.len, err);
	w->replaced++;
	rc = buf_append(to, w->pseudonym, strlen(w->pseudonym), err);
	for (size_t i = 0; !rc && i < text.len && begin + i < to->len; i++) {
		if (isupper((unsigned char)text.ptr[i]))
			to->ptr[begin + i] = (char)toupper((unsigned char)to->ptr[begin + i]);
	}
	return rc;
}

size_t anonymizer_count(const struct anonymizer *a)
{
	return a->count;
}

bool anonymizer_at(const struct anonymizer *a, size_t index, struct anonymized *ret)
{
	const struct word *w = a->list[index];

	*ret = (struct anonymized){w->text, w->pseudonym, w->replaced};
	return w->pseudonym != NULL;
}
