//go:build ignore

// Command sbom completes the SBOM that cyclonedx-gomod wrote of a program: go run .ci/sbom.go FILE PROGRAM.
//
// The program gets its own name, where the module's was. What stands in for modules that are left out has neither a
// version nor a hash, as it is in this repository: it is part of the program, and no component.
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"slices"
)

func main() {
	path, program := os.Args[1], os.Args[2]
	text, err := os.ReadFile(path)
	check(err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	sbom := map[string]any{}
	check(decoder.Decode(&sbom))

	sbom["metadata"].(map[string]any)["component"].(map[string]any)["name"] = program
	ours := map[any]bool{}
	sbom["components"] = slices.DeleteFunc(sbom["components"].([]any), func(entry any) bool {
		component := entry.(map[string]any)
		if component["version"] != "(devel)" {
			return false
		}
		ours[component["bom-ref"]] = true
		return true
	})
	forget := func(entry any, key string) {
		object := entry.(map[string]any)
		if refs, has := object[key].([]any); has {
			object[key] = slices.DeleteFunc(refs, func(ref any) bool { return ours[ref] })
		}
	}
	dependencies, _ := sbom["dependencies"].([]any)
	sbom["dependencies"] = slices.DeleteFunc(dependencies, func(entry any) bool {
		forget(entry, "dependsOn")
		return ours[entry.(map[string]any)["ref"]]
	})
	compositions, _ := sbom["compositions"].([]any)
	for _, entry := range compositions {
		forget(entry, "dependencies")
		forget(entry, "assemblies")
	}

	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	check(encoder.Encode(sbom))
	check(os.WriteFile(path, out.Bytes(), 0o600))
}

func check(err error) {
	if err != nil {
		log.Fatal("sbom: ", err)
	}
}
