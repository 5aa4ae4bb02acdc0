/* bytes_format.c: see bytes_format.h. */
#include "schema/base/bytes_format.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *bytes_format(char to[BYTES_TEXT_BYTES], uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1000 && unit < 4; unit++)
		value /= 1000;
	snprintf(to, BYTES_TEXT_BYTES, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return to;
}

/* How many bits a unit shifts; -1 when the text is none. */
static int shift_of(const char *unit)
{
	static const char letters[] = "kmgtp";
	const char *letter = *unit ? strchr(letters, tolower((unsigned char)*unit)) : NULL;
	int shift = letter ? 10 * (int)(letter - letters + 1) : 0;

	unit += letter != NULL;
	unit += letter && tolower((unsigned char)*unit) == 'i';
	unit += tolower((unsigned char)*unit) == 'b';
	return *unit ? -1 : shift;
}

/* Takes ".5" off the text. */
static double take_fraction(const char **text)
{
	double fraction = 0, place = 0.1;

	if (**text != '.' || !isdigit((unsigned char)(*text)[1]))
		return 0;
	for (++*text; isdigit((unsigned char)**text); ++*text, place /= 10)
		fraction += place * (**text - '0');
	return fraction;
}

int bytes_parse(const char *text, int64_t *ret, struct err *err)
{
	const char *at = text;
	int64_t whole = 0;
	uint64_t sum;
	double fraction;
	bool fits = true;
	int shift;

	for (; isdigit((unsigned char)*at); at++) {
		fits = fits && whole <= (INT64_MAX - 9) / 10;
		whole = fits ? whole * 10 + (*at - '0') : whole;
	}
	fraction = at > text ? take_fraction(&at) : 0;
	shift = shift_of(at);
	if (at == text || shift < 0 || (fraction > 0 && shift == 0))
		return err_set(
			err, ERR_USAGE, "expected a size such as 600k, 16Gi or 1.5G, found '%s'", text);
	fits = fits && whole <= INT64_MAX >> shift;
	sum = fits ? ((uint64_t)whole << shift) + (uint64_t)(fraction * (double)(INT64_C(1) << shift)) : 0;
	if (!fits || sum > INT64_MAX)
		return err_set(err, ERR_USAGE, "a size of '%s' is too large", text);
	*ret = (int64_t)sum;
	return 0;
}
