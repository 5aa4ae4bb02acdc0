package main

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type schemaKind = schema.GroupVersionKind

// The words of protobuf_table.h.
const (
	flagRepeated = 1 << iota
	flagMap
	flagPointer
	flagOmitEmpty
	flagOmitZero
	flagInline
)

// Types that print themselves, with the decoder's names for how.
var special = map[reflect.Type]string{
	reflect.TypeFor[meta.Time]():                               "TIME",
	reflect.TypeFor[meta.MicroTime]():                          "MICRO_TIME",
	reflect.TypeFor[meta.Duration]():                           "DURATION",
	reflect.TypeFor[meta.FieldsV1]():                           "FIELDS_V1",
	reflect.TypeFor[meta.Verbs]():                              "STRINGS",
	reflect.TypeFor[resource.Quantity]():                       "QUANTITY",
	reflect.TypeFor[intstr.IntOrString]():                      "INT_OR_STRING",
	reflect.TypeFor[runtime.RawExtension]():                    "RAW_EXTENSION",
	reflect.TypeFor[crdv1.JSON]():                              "RAW_JSON",
	reflect.TypeFor[crdv1beta1.JSON]():                         "RAW_JSON",
	reflect.TypeFor[crdv1.JSONSchemaPropsOrBool]():             "SCHEMA_OR_BOOL",
	reflect.TypeFor[crdv1beta1.JSONSchemaPropsOrBool]():        "SCHEMA_OR_BOOL",
	reflect.TypeFor[crdv1.JSONSchemaPropsOrArray]():            "SCHEMA_OR_ARRAY",
	reflect.TypeFor[crdv1beta1.JSONSchemaPropsOrArray]():       "SCHEMA_OR_ARRAY",
	reflect.TypeFor[crdv1.JSONSchemaPropsOrStringArray]():      "SCHEMA_OR_STRINGS",
	reflect.TypeFor[crdv1beta1.JSONSchemaPropsOrStringArray](): "SCHEMA_OR_STRINGS",
}

// The schema that a SCHEMA_OR_... type may hold.
var schemas = map[reflect.Type]reflect.Type{
	reflect.TypeFor[crdv1.JSONSchemaPropsOrBool]():             reflect.TypeFor[crdv1.JSONSchemaProps](),
	reflect.TypeFor[crdv1.JSONSchemaPropsOrArray]():            reflect.TypeFor[crdv1.JSONSchemaProps](),
	reflect.TypeFor[crdv1.JSONSchemaPropsOrStringArray]():      reflect.TypeFor[crdv1.JSONSchemaProps](),
	reflect.TypeFor[crdv1beta1.JSONSchemaPropsOrBool]():        reflect.TypeFor[crdv1beta1.JSONSchemaProps](),
	reflect.TypeFor[crdv1beta1.JSONSchemaPropsOrArray]():       reflect.TypeFor[crdv1beta1.JSONSchemaProps](),
	reflect.TypeFor[crdv1beta1.JSONSchemaPropsOrStringArray](): reflect.TypeFor[crdv1beta1.JSONSchemaProps](),
}

var (
	typeMeta   = reflect.TypeFor[meta.TypeMeta]()
	marshaller = reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()
	zeroer     = reflect.TypeFor[interface{ IsZero() bool }]()
)

type row struct {
	name, number int
	how          string
	flags        int
	message      int
}

// table is what is written: messages that print alike are one.
type table struct {
	names     []string
	nameIndex map[string]int
	messages  [][]row
	titles    []string
	byType    map[reflect.Type]int
	byRows    map[string]int
}

func newTable() *table {
	return &table{nameIndex: map[string]int{}, byType: map[reflect.Type]int{}, byRows: map[string]int{}}
}

func (t *table) name(text string) int {
	if i, ok := t.nameIndex[text]; ok {
		return i
	}
	t.nameIndex[text] = len(t.names)
	t.names = append(t.names, text)
	return len(t.names) - 1
}

func hasTypeMeta(goType reflect.Type) bool {
	f, ok := goType.FieldByName("TypeMeta")
	return ok && f.Type == typeMeta && f.Tag.Get("json") == ",inline"
}

// add returns the number of a struct's message. A type that holds itself gets its number before its rows.
func (t *table) add(goType reflect.Type) int {
	if i, ok := t.byType[goType]; ok {
		return i
	}
	if goType.Kind() != reflect.Struct {
		fail("type %v: expected a struct", goType)
	}
	number := -1
	if recursive(goType, goType, map[reflect.Type]bool{}) {
		number = t.place(goType)
	}
	rows := t.rows(goType)
	if number >= 0 {
		t.messages[number] = rows
		return number
	}
	key := goType.Name() + fmt.Sprint(rows) // messages tell the name
	if same, ok := t.byRows[key]; ok {
		t.byType[goType] = same
		return same
	}
	number = t.place(goType)
	t.messages[number] = rows
	t.byRows[key] = number
	return number
}

func (t *table) place(goType reflect.Type) int {
	t.messages = append(t.messages, nil)
	t.titles = append(t.titles, goType.String())
	t.byType[goType] = len(t.messages) - 1
	return len(t.messages) - 1
}

func element(goType reflect.Type) reflect.Type {
	for goType.Kind() == reflect.Pointer || goType.Kind() == reflect.Slice || goType.Kind() == reflect.Map {
		goType = goType.Elem()
	}
	return goType
}

func recursive(goType, wanted reflect.Type, seen map[reflect.Type]bool) bool {
	for i := range goType.NumField() {
		inner := element(goType.Field(i).Type)
		if inner == wanted {
			return true
		}
		if inner.Kind() == reflect.Struct && !seen[inner] {
			seen[inner] = true
			if recursive(inner, wanted, seen) {
				return true
			}
		}
	}
	return false
}

// rows describes the fields of a struct in the order in which Go prints them.
func (t *table) rows(goType reflect.Type) []row {
	var rows []row
	printed, numbers := map[string]bool{}, map[int]bool{}
	if len(reflect.VisibleFields(goType)) > 200 {
		fail("type %v has too many fields", goType)
	}
	for i := range goType.NumField() {
		f := goType.Field(i)
		if f.Type == typeMeta {
			continue
		}
		r := t.row(goType, f)
		if numbers[r.number] {
			fail("field %v.%s: number %d is used twice", goType, f.Name, r.number)
		}
		numbers[r.number] = true
		rows = append(rows, r)
	}
	if goType.NumField() > 0 {
		checkNames(goType, goType, printed)
	}
	return rows
}

// checkNames refuses what encoding/json would have to choose from: two fields of one name, one of them embedded.
func checkNames(top, goType reflect.Type, printed map[string]bool) {
	for i := range goType.NumField() {
		f := goType.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			if f.Type != typeMeta {
				checkNames(top, f.Type, printed)
			}
			continue
		}
		if printed[name] {
			fail("type %v prints '%s' twice", top, name)
		}
		printed[name] = true
	}
}

func (t *table) row(goType reflect.Type, f reflect.StructField) row {
	where := fmt.Sprintf("field %v.%s", goType, f.Name)
	jsonName, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	words := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(words) < 3 {
		fail("%s has no protobuf tag", where)
	}
	number, err := strconv.Atoi(words[1])
	if err != nil || number < 1 || number > 255 {
		fail("%s: number '%s', expected 1 to 255", where, words[1])
	}
	r := row{number: number}
	for _, word := range strings.Split(options, ",") {
		switch word {
		case "omitempty":
			r.flags |= flagOmitEmpty
		case "omitzero":
			r.flags |= flagOmitZero
		case "", "inline":
		default:
			fail("%s: unknown word '%s' in its json tag", where, word)
		}
	}
	r.how, r.flags, r.message = t.how(where, f.Type, r.flags)
	switch {
	case jsonName == "-" || !f.IsExported():
		fail("%s is not printed as JSON", where)
	case jsonName == "" && f.Anonymous && r.how == "MESSAGE" && r.flags == 0:
		r.flags |= flagInline
	case jsonName == "":
		fail("%s has no JSON name", where)
	}
	r.name = t.name(jsonName)
	if r.flags&flagOmitZero != 0 && r.how != "TIME" && r.how != "MICRO_TIME" {
		fail("%s: omitzero on something else than a time", where)
	}
	return r
}

// how tells the form of a field's values, whether there are several of them, and their message.
func (t *table) how(where string, goType reflect.Type, flags int) (string, int, int) {
	_, known := special[goType]
	switch {
	case known, isBytes(goType):
	case goType.Kind() == reflect.Pointer:
		flags |= flagPointer
		goType = goType.Elem()
	case goType.Kind() == reflect.Map:
		if goType.Key().Kind() != reflect.String {
			fail("%s: a map with keys that are no strings", where)
		}
		flags |= flagMap
		goType = goType.Elem()
	case goType.Kind() == reflect.Slice:
		flags |= flagRepeated
		goType = goType.Elem()
	}
	if how, ok := special[goType]; ok {
		if inner, ok := schemas[goType]; ok {
			return how, flags, t.add(inner)
		}
		return how, flags, 0
	}
	if reflect.PointerTo(goType).Implements(marshaller) || goType.Implements(zeroer) && goType.Kind() == reflect.Struct {
		fail("%s: type %v prints itself in a way the decoder does not know", where, goType)
	}
	if goType.Kind() == reflect.Struct {
		return "MESSAGE", flags, t.add(goType)
	}
	return scalar(where, goType, flags), flags, 0
}

func isBytes(goType reflect.Type) bool {
	return goType.Kind() == reflect.Slice && goType.Elem().Kind() == reflect.Uint8
}

func scalar(where string, goType reflect.Type, flags int) string {
	// A named list of strings is a message with one repeated field where it cannot be repeated itself.
	if goType.Kind() == reflect.Slice && goType.Elem().Kind() == reflect.String && flags&flagMap != 0 {
		return "STRINGS"
	}
	if isBytes(goType) {
		return "BYTES"
	}
	how, ok := map[reflect.Kind]string{reflect.String: "STRING", reflect.Bool: "BOOL", reflect.Int32: "INT32",
		reflect.Int64: "INT64", reflect.Float64: "DOUBLE"}[goType.Kind()]
	if !ok {
		fail("%s: type %v is unknown to the decoder", where, goType)
	}
	return how
}

// lines prints words, comma separated, in lines of at most 108 columns, each with a tab before.
func lines(w io.Writer, words []string) {
	width := 0
	for _, word := range words {
		if width > 0 && width+len(word)+2 > 100 {
			fmt.Fprintln(w)
			width = 0
		}
		if width == 0 {
			fmt.Fprint(w, "\t")
		} else {
			fmt.Fprint(w, " ")
		}
		fmt.Fprint(w, word+",")
		width += len(word) + 2
	}
	fmt.Fprintln(w)
}

func (t *table) write(w io.Writer, kinds []kind) {
	fmt.Fprintf(w, "/*\n * protobuf_table.c: generated by tools/protobuf; do not edit. From the Go types of\n%s */\n", versions())
	fmt.Fprint(w, "#include \"replayer/protobuf/protobuf_table.h\"\n\n/* clang-format off */\n")
	t.writeKinds(w, kinds)
	t.writeMessages(w)
	t.writeTypes(w)
	t.writeNames(w)
}

func (t *table) writeKinds(w io.Writer, kinds []kind) {
	fmt.Fprint(w, "/* apiVersion, kind, prints both, message. An empty apiVersion is any. */\n")
	fmt.Fprint(w, "const struct protobuf_kind protobuf_kinds[] = {\n")
	var words []string
	for _, k := range kinds {
		typed := 0
		if k.typed {
			typed = 1
		}
		words = append(words, fmt.Sprintf("{%d,%d,%d,%d}", t.name(k.apiVersion), t.name(k.name), typed, k.message))
	}
	lines(w, words)
	fmt.Fprintf(w, "};\nconst unsigned protobuf_kind_count = %d;\n\n", len(kinds))
}

func (t *table) writeMessages(w io.Writer) {
	fmt.Fprint(w, "/* JSON name, number, form, flags, message. After \"=\" the number of the message and a type that has it. */\n")
	fmt.Fprint(w, "const struct protobuf_row protobuf_rows[] = {\n")
	first := 0
	starts := []string{}
	longest := 0
	for i, rows := range t.messages {
		var words []string
		for _, r := range rows {
			words = append(words, fmt.Sprintf("{%d,%d,%d,%d,%d}", r.name, r.number, formNumber(r.how), r.flags, r.message))
		}
		fmt.Fprintf(w, "\t/* = %d %s */\n", i, t.titles[i])
		if len(words) > 0 {
			lines(w, words)
		}
		starts = append(starts, strconv.Itoa(first))
		first += len(rows)
		longest = max(longest, len(rows))
	}
	if longest > 64 {
		fail("a message has %d fields, more than PROTOBUF_ROWS_MAX", longest)
	}
	starts = append(starts, strconv.Itoa(first))
	fmt.Fprint(w, "};\n\n/* Where the rows of each message begin, and where the last one's end. */\n")
	fmt.Fprint(w, "const uint16_t protobuf_starts[] = {\n")
	lines(w, starts)
	fmt.Fprint(w, "};\n\n")
}

func (t *table) writeTypes(w io.Writer) {
	fmt.Fprint(w, "/* The name of a type that has the message, for each. */\nconst uint16_t protobuf_types[] = {\n")
	var words []string
	for _, title := range t.titles {
		words = append(words, strconv.Itoa(t.name(title)))
	}
	lines(w, words)
	fmt.Fprint(w, "};\n\n")
}

func (t *table) writeNames(w io.Writer) {
	fmt.Fprint(w, "const char *const protobuf_names[] = {\n")
	var words []string
	for _, name := range t.names {
		words = append(words, strconv.Quote(name))
	}
	lines(w, words)
	fmt.Fprint(w, "};\n\nconst size_t protobuf_name_count = sizeof(protobuf_names) / sizeof(protobuf_names[0]);\n")
}

// The order of enum protobuf_form.
var forms = []string{"STRING", "BOOL", "INT32", "INT64", "DOUBLE", "BYTES", "MESSAGE", "STRINGS", "TIME", "MICRO_TIME",
	"DURATION", "QUANTITY", "INT_OR_STRING", "RAW_EXTENSION", "FIELDS_V1", "RAW_JSON", "SCHEMA_OR_BOOL", "SCHEMA_OR_ARRAY",
	"SCHEMA_OR_STRINGS"}

func formNumber(how string) int {
	for i, form := range forms {
		if form == how {
			return i
		}
	}
	fail("form '%s' is unknown to the decoder", how)
	return 0
}
