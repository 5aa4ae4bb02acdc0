/* export_svg.c: the timeline as a drawing, from the answers that the page is drawn from. */
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/base/utf8.h"
#include "tools/out/export_picture.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

#define LANES_MAX   400
#define LEFT        300 /* of the labels */
#define PLOT        1000
#define LANE        20
#define TOP         58
#define RULER_STEPS 8
#define LABEL_MAX   44 /* characters */

struct drawing {
	FILE *to;
	struct picture_window window;
	const cJSON *gaps;
};

static const char style[] =
	"<style>text{font:12px system-ui,'DejaVu Sans',sans-serif;fill:#1c2330}.dim{fill:#667085;font-size:10.5px}"
	".b{font-weight:600}.in{font-size:10.5px;font-weight:600}.n{fill:#f5f6f8}.tick{stroke:#d9dde3}.s1{fill:#a9b4c4}.s2{fill:#3fa36b}.s3{fill:#4aa6a6}"
	".s4{fill:#a8bf3e}.s5{fill:#e3b341}.s6{fill:#9b8ac4}.s7{fill:#ef8a3c}.s8{fill:#e0483e}.s9{fill:#a3161a}"
	".wanted{fill:none;stroke:#1c2330;stroke-width:1.5}.mark{font-size:9px;font-weight:700;text-anchor:middle}"
	"</style>\n<defs><pattern id=\"gap\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M-1 7L7 -1\" "
	"stroke=\"#8a94a6\"/></pattern><pattern id=\"hid\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M-1 "
	"7L7 -1\" stroke=\"#b42318\"/></pattern></defs>\n";

/* ---- text ---- */

/* At most this many characters; what XML cannot hold, or what does something, becomes a question mark. */
static void put_text(FILE *to, const char *text, size_t most)
{
	struct slice rest = slice_of(text ? text : "");

	for (size_t n = 0; rest.len && n < most; n++) {
		uint32_t code = 0;
		size_t len = utf8_read(rest, &code);

		if (!len || utf8_is_active(code))
			fputc('?', to);
		else if (code == '&' || code == '<' || code == '>' || code == '"')
			fprintf(to, "&#%u;", code);
		else
			fwrite(rest.ptr, 1, len, to);
		len = len ? len : 1;
		rest = (struct slice){rest.ptr + len, rest.len - len};
	}
	if (rest.len)
		fputs("\xe2\x80\xa6", to);
}

static const char *text_of(const cJSON *object, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

	return text ? text : "";
}

static double number_of(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static double item_number(const cJSON *array, int index)
{
	const cJSON *item = cJSON_GetArrayItem(array, index);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* ---- a lane ---- */

static double x_of_time(const struct drawing *d, const char *time_ns)
{
	double length = (double)(d->window.to_ns - d->window.from_ns);
	double x = ((double)strtoll(time_ns, NULL, 10) - (double)d->window.from_ns) / length * PLOT;

	return x < 0 ? 0 : x > PLOT ? PLOT : x;
}

static void draw_gaps(const struct drawing *d, const cJSON *lane, int y)
{
	const cJSON *gap;

	if (strcmp(text_of(lane, "type"), "namespace") == 0)
		return;
	cJSON_ArrayForEach(gap, d->gaps)
	{
		const char *namespace = text_of(gap, "namespace");
		double x0 = x_of_time(d, text_of(gap, "begin")), x1 = x_of_time(d, text_of(gap, "end"));
		bool hid = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(gap, "hid"));

		if (number_of(gap, "id") != number_of(lane, "id") ||
			(*namespace && strcmp(namespace, text_of(lane, "namespace")) != 0))
			continue;
		fprintf(d->to, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"url(#%s)\"/>",
			LEFT + x0, y, x1 - x0 < 2 ? 2 : x1 - x0, LANE, hid ? "hid" : "gap");
	}
}

static void draw_bars(const struct drawing *d, const cJSON *lane, const cJSON *states, int y, bool pale)
{
	const cJSON *bar;

	cJSON_ArrayForEach(bar, cJSON_GetObjectItemCaseSensitive(lane, "bars"))
	{
		double x0 = item_number(bar, 0), x1 = item_number(bar, 1);
		int state = (int)item_number(bar, 2);
		const cJSON *name = cJSON_GetArrayItem(states, state);

		fprintf(d->to,
			"<rect class=\"s%d\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"%s><title>",
			state, LEFT + x0, y + 3, x1 - x0 < 1 ? 1 : x1 - x0, LANE - 6,
			pale ? " opacity=\".45\"" : "");
		put_text(d->to, cJSON_GetStringValue(name), LABEL_MAX);
		fputs("</title></rect>", d->to);
		if (x1 - x0 > 70 && state > 2 && !pale) {
			fprintf(d->to, "<text class=\"in\" x=\"%.1f\" y=\"%d\">", LEFT + x0 + 4, y + 14);
			put_text(d->to, cJSON_GetStringValue(name), LABEL_MAX);
			fputs("</text>", d->to);
		}
	}
}

/* The replicas that are wanted as a line, and how many of them were ready. */
static void draw_steps(const struct drawing *d, const cJSON *lane, int y)
{
	const cJSON *steps = cJSON_GetObjectItemCaseSensitive(lane, "steps"), *step;
	double most = 1, labelled = -100, last = 0;

	cJSON_ArrayForEach(step, steps)
	{
		for (int i = 1; i <= 2; i++)
			most = item_number(step, i) > most ? item_number(step, i) : most;
	}
	cJSON_ArrayForEach(step, steps)
	{
		double x = LEFT + item_number(step, 0),
		       next = step->next ? LEFT + item_number(step->next, 0) : LEFT + PLOT;
		double wanted = item_number(step, 1), ready = item_number(step, 2),
		       height = ready / most * (LANE - 6);

		last = y + LANE - 3 - wanted / most * (LANE - 6);
		fprintf(d->to,
			"<rect class=\"s%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/><path class=\"wanted\" "
			"d=\"M%.1f %.1fH%.1f\"/>",
			ready < wanted ? 7 : 2, x, y + LANE - 3 - height, next - x, height, x, last, next);
		if (next - x > 34 && x - labelled > 40) {
			fprintf(d->to, "<text class=\"b\" x=\"%.1f\" y=\"%d\">%.0f/%.0f</text>", x + 9,
				y + 15, ready, wanted);
			labelled = x;
		}
	}
}

static void draw_marks(const struct drawing *d, const cJSON *lane, int y)
{
	static const struct {
		const char *note, *glyph, *color;
	} looks[] = {{"inferred", "\xc3\x97", "#b42318"}, {"spec", "\xe2\x97\x86", "#6d3fc0"},
		{"restart", "\xe2\x86\xbb", "#b76e00"}, {"warning", "!", "#b76e00"},
		{"missed", "?", "#b42318"}, {"recreated", "\xe2\x9f\xb2", "#1f5fd0"},
		{"oom", "\xe2\x9c\x96", "#e0483e"}};
	const cJSON *mark;

	cJSON_ArrayForEach(mark, cJSON_GetObjectItemCaseSensitive(lane, "marks"))
	{
		const char *note = cJSON_GetStringValue(cJSON_GetArrayItem(mark, 1));
		double x = LEFT + item_number(mark, 0) + 0.5;

		for (size_t i = 0; note && i < COUNT_OF(looks); i++) {
			if (strcmp(looks[i].note, note) != 0)
				continue;
			fprintf(d->to,
				"<g><title>%s</title><circle cx=\"%.1f\" cy=\"%d\" r=\"6\" fill=\"#fff\" stroke=\"%s\"/>"
				"<text class=\"mark\" x=\"%.1f\" y=\"%d\" style=\"fill:%s\">%s</text></g>",
				note, x, y + LANE / 2, looks[i].color, x, y + LANE / 2 + 3, looks[i].color,
				looks[i].glyph);
		}
	}
}

static void draw_lane(const struct drawing *d, const cJSON *lane, const cJSON *states, int y)
{
	bool is_space = strcmp(text_of(lane, "type"), "namespace") == 0;
	bool has_steps = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(lane, "steps")) > 0;
	double x = 10 + 14 * number_of(lane, "depth");

	if (is_space)
		fprintf(d->to, "<rect class=\"n\" x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\"/>", y,
			LEFT + PLOT + 10, LANE);
	fprintf(d->to, "<text%s x=\"%.0f\" y=\"%d\">", is_space ? " class=\"b\"" : "", x, y + 14);
	put_text(d->to, text_of(lane, "label"), LABEL_MAX - 2 * (size_t)number_of(lane, "depth"));
	if (strcmp(text_of(lane, "type"), "object") == 0) {
		fputs("<tspan class=\"dim\" dx=\"7\">", d->to);
		put_text(d->to, text_of(lane, "kind"), 16);
		fputs("</tspan>", d->to);
	} else if (!is_space) {
		fprintf(d->to, " (%.0f)", number_of(lane, "below"));
	}
	fputs("</text>", d->to);
	draw_gaps(d, lane, y);
	draw_bars(d, lane, states, y, has_steps);
	draw_steps(d, lane, y);
	draw_marks(d, lane, y);
	fputc('\n', d->to);
}

/* ---- the whole ---- */

static void draw_ruler(const struct drawing *d, int bottom)
{
	char text[TIME_TEXT_BYTES];

	for (int i = 0; i < RULER_STEPS; i++) {
		int64_t at = d->window.from_ns + (d->window.to_ns - d->window.from_ns) / RULER_STEPS * i;

		time_format(text, at);
		fprintf(d->to,
			"<path class=\"tick\" d=\"M%d %dV%d\"/><text class=\"dim\" x=\"%d\" y=\"%d\">%.12s</text>\n",
			LEFT + PLOT / RULER_STEPS * i, TOP - 12, bottom, LEFT + PLOT / RULER_STEPS * i + 3,
			TOP - 6, text + 11);
	}
}

static void draw_head(const struct drawing *d, const char *tape, int height)
{
	char from[TIME_TEXT_BYTES], to[TIME_TEXT_BYTES];
	const char *slash = strrchr(tape, '/');

	fprintf(d->to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n%s"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text class=\"b\" x=\"10\" y=\"22\">",
		LEFT + PLOT + 10, height, LEFT + PLOT + 10, height, style);
	put_text(d->to, slash && slash[1] ? slash + 1 : tape, 100);
	fprintf(d->to,
		"</text><text class=\"dim\" x=\"%d\" y=\"22\">%.23s to %.23s UTC; hatched: nobody watched, red where that "
		"hid a change</text>\n",
		LEFT, time_format(from, d->window.from_ns), time_format(to, d->window.to_ns));
}

/* An answer as a tree; the caller deletes it. */
static int export_svg_parse(struct buf *json, cJSON **ret, struct err *err)
{
	*ret = cJSON_ParseWithLength(json->ptr, json->len);
	buf_clear(json);
	return *ret ? 0 : err_set(err, ERR_FAILED, "cannot read an answer about the picture");
}

static int draw(struct drawing *d, struct picture *p, const char *tape, struct err *err)
{
	const struct picture_choice choice = {.window = d->window, .count = LANES_MAX};
	cJSON *summary = NULL, *lanes = NULL, *gaps = NULL;
	const cJSON *all, *lane;
	struct buf json;
	int rc, y = TOP;

	buf_init(&json, LIMIT_DOCUMENT_BYTES);
	if ((rc = picture_summary(p, &json, err)) || (rc = export_svg_parse(&json, &summary, err)) ||
		(rc = picture_lanes(p, &choice, &json, err)) || (rc = export_svg_parse(&json, &lanes, err)) ||
		(rc = picture_gaps(p, &d->window, &json, err)) || (rc = export_svg_parse(&json, &gaps, err)))
		goto out;
	all = cJSON_GetObjectItemCaseSensitive(lanes, "lanes");
	d->gaps = cJSON_GetObjectItemCaseSensitive(gaps, "gaps");
	draw_head(d, tape, TOP + LANE * cJSON_GetArraySize(all) + 10);
	draw_ruler(d, TOP + LANE * cJSON_GetArraySize(all));
	cJSON_ArrayForEach(lane, all)
	{
		draw_lane(d, lane, cJSON_GetObjectItemCaseSensitive(summary, "states"), y);
		y += LANE;
	}
	fputs("</svg>\n", d->to);
	rc = out_stream_flush(d->to, err);
out:
	cJSON_Delete(summary);
	cJSON_Delete(lanes);
	cJSON_Delete(gaps);
	buf_release(&json);
	return rc;
}

int export_svg(const struct export_picture *o, FILE *to, struct err *err)
{
	struct drawing d = {.to = to, .window = {.width = PLOT}};
	struct picture *p;
	int rc = export_picture_open(o, &p, &d.window, err);

	if (rc)
		return rc;
	rc = draw(&d, p, o->tape, err);
	picture_close(p);
	return rc;
}
