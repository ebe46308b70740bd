// Command program comes to a moment and to a write of ten bytes, and prints what they lead to.
package main

import (
	"fmt"

	"waymark/internal/failpoint"
)

func main() {
	if err := failpoint.Hit("first"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(failpoint.Short("write", 10))
}
