package locale_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"innerloop/internal/locale"
)

// Every sentence of the settings is there in both languages, and takes the
// same values.
func TestSettingsAreSaidInBothLanguages(t *testing.T) {
	t.Parallel()
	verbs, cyrillic := regexp.MustCompile(`%s|#`), regexp.MustCompile(`\p{Cyrillic}`)
	var walk func(name string, en, ru reflect.Value)
	walk = func(name string, en, ru reflect.Value) {
		switch en.Kind() {
		case reflect.Struct:
			if forms, ok := en.Interface().(locale.Forms); ok {
				other := ru.Interface().(locale.Forms)
				if forms.One == "" || forms.Other == "" || other.One == "" || other.Few == "" || other.Many == "" {
					t.Errorf("%s lacks a plural form", name)
				}
				return
			}
			for i := range en.NumField() {
				walk(name+"."+en.Type().Field(i).Name, en.Field(i), ru.Field(i))
			}
		case reflect.Map:
			if en.Len() == 0 || en.Len() != ru.Len() {
				t.Errorf("%s has %d and %d sentences", name, en.Len(), ru.Len())
			}
			for _, key := range en.MapKeys() {
				if !ru.MapIndex(key).IsValid() {
					t.Errorf("%s[%v] is not in Russian", name, key)
					continue
				}
				walk(name+"["+key.String()+"]", en.MapIndex(key), ru.MapIndex(key))
			}
		case reflect.String:
			a, b := en.String(), ru.String()
			if a == "" || b == "" || !cyrillic.MatchString(b) && !strings.HasPrefix(b, "innerloop ") {
				t.Errorf("%s: %q and %q", name, a, b)
			}
			if x, y := verbs.FindAllString(a, -1), verbs.FindAllString(b, -1); !reflect.DeepEqual(x, y) {
				t.Errorf("%s takes %q in English and %q in Russian", name, x, y)
			}
			if strings.Contains(a+b, "!") {
				t.Errorf("%s shouts", name)
			}
		}
	}
	walk("shelf", reflect.ValueOf(*locale.English.ShelfMessages()), reflect.ValueOf(*locale.Russian.ShelfMessages()))
	walk("settings", reflect.ValueOf(*locale.English.SettingsMessages()), reflect.ValueOf(*locale.Russian.SettingsMessages()))
}
