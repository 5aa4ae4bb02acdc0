/* picture_lanes.c: which lanes there are to be seen, and each with its bars. */
#include "schema/base/count_of.h"
#include "schema/view/picture_bars.h"
#include "schema/view/picture_internal.h"
#include "schema/view/writers.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- filter ---- */

/* Of any case, as far as ASCII goes. */
static bool holds(struct slice text, struct slice part)
{
	for (size_t at = 0; at + part.len <= text.len; at++) {
		size_t i = 0;

		while (i < part.len &&
			tolower((unsigned char)text.ptr[at + i]) == tolower((unsigned char)part.ptr[i]))
			i++;
		if (i == part.len)
			return true;
	}
	return false;
}

static bool node_matches(const struct picture *p, const struct node *n, const struct picture_choice *c)
{
	const struct track *t = &p->tracks[n->track];

	if (n->kind != NODE_OBJECT || !holds(slice_of(t->key), c->filter))
		return false;
	return !c->writer.len || (c->writers && writers_touched(c->writers, c->writer, t->key));
}

/* Marks nodes that match, and those with such below them. */
static void match_nodes(struct picture *p, const struct picture_choice *c)
{
	uint32_t open_at[16];
	size_t deep = 0;

	for (uint32_t i = 0; i < p->node_count; i++) {
		struct node *n = &p->nodes[i];

		n->matches = node_matches(p, n, c);
		n->inside = false;
		if (n->depth >= COUNT_OF(open_at))
			continue;
		open_at[n->depth] = i;
		for (deep = n->depth; n->matches && deep > 0; deep--)
			p->nodes[open_at[deep - 1]].inside = true;
	}
}

/* ---- open and closed ---- */

/* Keys of a choice, one a line; the keys live in `text`. */
static void read_toggled(struct slice lines, char **ret_text, struct text_map *ret)
{
	char *at;

	*ret_text = slice_dup(lines);
	for (at = *ret_text; *at;) {
		char *end = at + strcspn(at, "\n");
		bool last = !*end;

		*end = 0;
		if (*at)
			text_map_put(ret, at, at);
		at = last ? end : end + 1;
	}
}

static bool is_open(const struct picture *p, const struct node *n, const struct picture_choice *c,
	const struct text_map *toggled, bool filtered)
{
	char *key;
	bool open, other;

	if (!n->span)
		return false;
	if (c->all_open)
		return true;
	open = filtered ? n->inside : node_is_open_at_first(p, n);
	if (!toggled->used)
		return open;
	key = node_key(p, n);
	other = text_map_get(toggled, key) != NULL;
	free(key);
	return open != other;
}

/* ---- telling ---- */

static void put_label(struct answer_out *o, const struct node *n, const struct track *t)
{
	struct slice resource = {t->key, t->resource_len};

	if (n->kind == NODE_NAMESPACE)
		answer_member(o, "label", *t->namespace ? slice_of(t->namespace) : slice_of("(cluster)"));
	else
		answer_member(o, "label", n->kind == NODE_GROUP ? resource : slice_of(t->name));
}

static void put_lane(struct answer_out *o, struct picture *p, const struct node *n, bool open,
	const struct picture_window *w)
{
	static const char *const kinds[] = {"namespace", "group", "object"};
	const struct track *t = &p->tracks[n->track];
	const struct tape_resource *r = tape_resource_by_id(p->tape, t->resource);
	char *key = node_key(p, n);

	answer_put(o, "{\"type\":\"%s\",\"depth\":%u,\"below\":%u,\"open\":%s,\"id\":%u", kinds[n->kind],
		n->depth, n->span, open ? "true" : "false", n->kind == NODE_NAMESPACE ? 0 : t->resource);
	answer_member(o, "key", slice_of(key));
	put_label(o, n, t);
	answer_member(o, "kind", slice_of(n->kind == NODE_NAMESPACE ? "Namespace" : r ? r->kind : t->kind));
	if (n->kind != NODE_NAMESPACE) {
		answer_member(o, "resource", slice_of(r ? r->resource : ""));
		answer_member(o, "group", slice_of(r ? r->apigroup : ""));
	}
	answer_member(o, "namespace", slice_of(t->namespace));
	if (n->kind == NODE_OBJECT) {
		answer_member(o, "name", slice_of(t->name));
		answer_put(o, ",\"events\":%u,\"life_count\":%u", t->point_count, t->life_count);
	}
	picture_put_bars(o, p, n, !open, w);
	answer_put(o, "}");
	free(key);
}

int picture_lanes(struct picture *p, const struct picture_choice *c, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};
	bool filtered = c->filter.len || c->writer.len;
	struct text_map toggled = {0};
	size_t total = 0, told = 0;
	char *text;

	picture_make_tree(p, c->sort);
	if (filtered)
		match_nodes(p, c);
	read_toggled(c->toggled, &text, &toggled);
	answer_put(&o, "{\"lanes\":[");
	for (size_t i = 0; i < p->node_count && !o.code;) {
		const struct node *n = &p->nodes[i];
		bool open;

		if (filtered && !n->matches && !n->inside) {
			i += n->span + 1;
			continue;
		}
		open = is_open(p, n, c, &toggled, filtered);
		if (total >= c->first && told < c->count) {
			answer_put(&o, told++ ? "," : "");
			put_lane(&o, p, n, open, &c->window);
		}
		total++;
		i += open ? 1 : n->span + 1;
	}
	answer_put(&o, "],\"first\":%zu,\"total\":%zu,\"share\":%.3f}", c->first, total, picture_share(p));
	text_map_release(&toggled);
	free(text);
	return o.code;
}
