package protobuf

import (
	"fmt"
	"math"
	"math/rand"
	"time"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// Texts that printers get wrong, beside plain ones.
var texts = []string{"", "a", "web-0", "k8s.gcr.io/pause:3.9", "\"quoted\" \\ back", "<html> & more", "line\nfeed\ttab\r",
	"\x00\x01\x1f\x7f\b\f", "größe", "日本語", "😀", "\u2028\u2029", "\xff\xfe", "cut \xe2\x82", "\xed\xa0\x80", "0", "null"}

// Values that may stand where raw JSON is kept, with white space and all.
var documents = []string{`{}`, `null`, `[]`, `""`, `0`, `-1.50e+10`, `true`, ` { "a" : [ 1 , 2 , { } ] } `,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a<b>&c"}}`, "\n[\"\u2028\",\"\\u2028\\\"\\\\\"]\t",
	`{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`, `{"big":123456789012345678901234567890,"small":1e-400}`}

var objects = []string{`{}`, `null`, `{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`,
	` {"f:spec": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}}}}`, `{"a":"<&>"}`}

var quantities = []string{"0", "1", "100m", "1500m", "1.5", "1Gi", "1.5Gi", "128974848", "129e6", "123Mi", "1n", "1u", "12k",
	"1E", "9223372036854775807", "-5", "-1Ki", "0.001", "1e3", "1E3", "1Ei", "3.0", "1000", "1024Ki", "0.5Mi", "12e-3"}

func text(r *rand.Rand) string {
	if r.Intn(3) > 0 {
		return fmt.Sprintf("%x", r.Int63n(1<<uint(r.Intn(40))))
	}
	return texts[r.Intn(len(texts))]
}

func moment(r *rand.Rand, unit int64) time.Time {
	switch r.Intn(6) {
	case 0:
		return time.Time{}
	case 1:
		return time.Unix(0, 0)
	case 2: // any that has a year of four digits
		return time.Unix(-62135596800+r.Int63n(315537897599), 0)
	}
	return time.Unix(1700000000+r.Int63n(100000000), r.Int63n(1000000000/unit)*unit)
}

func number(r *rand.Rand) float64 {
	switch r.Intn(5) {
	case 0:
		return float64(r.Intn(100))
	case 1:
		return r.NormFloat64() * math.Pow(10, float64(r.Intn(60)-30))
	case 2:
		return []float64{0, 1e20, 1e21, 1e-6, 1e-7, 0.1, -0.5, 123456789012345680000, math.MaxFloat64,
			math.SmallestNonzeroFloat64, 1.2345e20, math.Copysign(0, -1)}[r.Intn(12)]
	case 3:
		for {
			if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
				return f
			}
		}
	}
	return float64(r.Intn(1000)) / 8
}

func raw(r *rand.Rand, from []string) []byte {
	if r.Intn(4) == 0 {
		return nil
	}
	return []byte(from[r.Intn(len(from))])
}

// fill gives an object random values; the same seed gives the same ones.
func fill(obj runtime.Object, seed int64) {
	r := rand.New(rand.NewSource(seed))
	filler := randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(14).Funcs(
		func(s *string, c randfill.Continue) { *s = text(r) },
		func(i *int32, c randfill.Continue) { *i = int32(wide(r)) },
		func(i *int64, c randfill.Continue) { *i = wide(r) },
		func(f *float64, c randfill.Continue) { *f = number(r) },
		func(b *[]byte, c randfill.Continue) {
			*b = make([]byte, r.Intn(8))
			r.Read(*b)
		},
		func(t *meta.Time, c randfill.Continue) { t.Time = moment(r, 1) },
		func(t *meta.MicroTime, c randfill.Continue) { t.Time = moment(r, 1) },
		func(d *meta.Duration, c randfill.Continue) { d.Duration = time.Duration(wide(r)) },
		func(f *meta.FieldsV1, c randfill.Continue) { f.SetRawBytes(raw(r, objects)) },
		func(q *resource.Quantity, c randfill.Continue) {
			if r.Intn(8) > 0 {
				*q = resource.MustParse(quantities[r.Intn(len(quantities))])
			}
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(int32(wide(r)))
			if r.Intn(2) == 0 {
				*v = intstr.FromString(text(r))
			}
		},
		func(e *runtime.RawExtension, c randfill.Continue) { e.Raw = raw(r, documents) },
		func(j *crdv1.JSON, c randfill.Continue) { j.Raw = raw(r, documents) },
		func(j *crdv1beta1.JSON, c randfill.Continue) { j.Raw = raw(r, documents) },
		func(t *meta.TypeMeta, c randfill.Continue) {},
	)
	filler.Fill(obj)
}

func wide(r *rand.Rand) int64 {
	switch r.Intn(4) {
	case 0:
		return 0
	case 1:
		return r.Int63n(1000)
	}
	return int64(r.Uint64()) >> uint(r.Intn(64))
}

// damage changes some bytes: one value, a cut, a piece doubled or taken out.
func damage(raw []byte, seed int64) []byte {
	r := rand.New(rand.NewSource(seed))
	raw = append([]byte{}, raw...)
	if len(raw) == 0 {
		return []byte{byte(r.Intn(256)), byte(r.Intn(256))}
	}
	at := r.Intn(len(raw))
	switch r.Intn(4) {
	case 0:
		raw[at] = byte(r.Intn(256))
	case 1:
		raw[at] ^= 1 << uint(r.Intn(8))
	case 2:
		raw = raw[:at]
	case 3:
		raw = append(raw[:at:at], raw[min(len(raw), at+1+r.Intn(4)):]...)
	}
	return raw
}
