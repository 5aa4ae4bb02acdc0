/* write_policy.c: see write_policy.h. */
#include "replayer/write/write_policy.h"

#include "replayer/kinds/builtin.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

static const char *const policies[] = {
	[WRITE_OVERLAY] = "overlay", [WRITE_ABSORB] = "absorb", [WRITE_REJECT] = "reject"};

#define POLICY_COUNT (COUNT_OF(policies))
#define ALL_VERBS    (~0u)

const char *write_policy_name(enum write_policy policy)
{
	return policies[policy];
}

static size_t find_word(struct slice word, const char *const *words, size_t count)
{
	size_t i = 0;

	while (i < count && !slice_is(word, words[i]))
		i++;
	return i;
}

static int parse_verbs(struct slice text, unsigned *ret, const char *rule, struct err *err)
{
	unsigned bits = 0;

	do {
		struct slice word = slice_cut(&text, ',');
		enum verb verb = verb_find(word);

		if (!verb_is_write(verb))
			return err_set(err, ERR_USAGE,
				"bad verb '%.*s' in '%s': expected create, update, patch, delete or deletecollection",
				(int)word.len, word.ptr, rule);
		bits |= 1u << verb;
	} while (text.ptr);
	*ret = bits;
	return 0;
}

/* RESOURCE[/SUBRESOURCE][.GROUP][:VERBS] */
static int parse_subject(struct slice text, struct write_rule *r, const char *rule, struct err *err)
{
	struct slice verbs_text = text, subject = slice_cut(&verbs_text, ':');
	struct slice group = subject, name = slice_cut(&group, '.');
	struct slice sub = name, resource = slice_cut(&sub, '/');

	if (resource.len == 0)
		return err_set(err, ERR_USAGE,
			"no resource in '%s': expected RESOURCE[.GROUP][:VERBS]=POLICY", rule);
	if (!slice_is(resource, "*"))
		r->resource = resource;
	r->subresource = sub;
	r->group = group;
	r->any_group = !group.ptr;
	return verbs_text.ptr ? parse_verbs(verbs_text, &r->verbs, rule, err) : 0;
}

static int parse_rule(struct write_rule *r, struct err *err)
{
	const char *equals = strrchr(r->text, '=');
	struct slice word = slice_of(equals ? equals + 1 : r->text);
	struct slice subject = {r->text, equals ? (size_t)(equals - r->text) : 0};
	size_t policy = find_word(word, policies, POLICY_COUNT);

	if (policy == POLICY_COUNT)
		return err_set(err, ERR_USAGE,
			"bad policy '%.*s' in '%s': expected overlay, absorb or reject", (int)word.len,
			word.ptr, r->text);
	r->policy = (enum write_policy)policy;
	return equals ? parse_subject(subject, r, r->text, err) : 0;
}

int write_rules_add(struct write_rules *rules, const char *text, struct err *err)
{
	struct write_rule r = {.text = xstrdup(text), .any_group = true, .verbs = ALL_VERBS};
	int rc = parse_rule(&r, err);

	if (rc) {
		free(r.text);
		return rc;
	}
	rules->items = xrealloc(rules->items, (rules->count + 1) * sizeof(*rules->items));
	rules->items[rules->count++] = r;
	return 0;
}

void write_rules_release(struct write_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		free(rules->items[i].text);
	free(rules->items);
	*rules = (struct write_rules){0};
}

static bool write_policy_fits(const struct write_rule *r, struct slice group, struct slice resource,
	struct slice subresource, enum verb verb)
{
	return (r->verbs & 1u << verb) && (!r->resource.len || slice_equal(r->resource, resource)) &&
	       (!r->subresource.len || slice_equal(r->subresource, subresource)) &&
	       (r->any_group || slice_equal(r->group, group));
}

enum write_policy write_rules_find(const struct write_rules *rules, struct slice group, struct slice resource,
	struct slice subresource, enum verb verb, bool recorded)
{
	for (size_t i = rules->count; i; i--) {
		if (write_policy_fits(&rules->items[i - 1], group, resource, subresource, verb))
			return rules->items[i - 1].policy;
	}
	return recorded && !builtin_is_aside(group, resource) ? WRITE_ABSORB : WRITE_OVERLAY;
}
