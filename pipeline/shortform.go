package pipeline

import (
	"fmt"
	"strings"
)

func (n *Names) fromText(text string) error {
	*n = Names{text}
	return nil
}

func (*Names) shortTexts() []string { return nil }

func (p *Policy) fromText(text string) error {
	if err := checkWord(text, p.shortTexts()); err != nil {
		return fmt.Errorf("%w; a number of branches is written {quorum: 2}", err)
	}
	p.Word = text
	return nil
}

func (*Policy) shortTexts() []string { return []string{RequireAll, BestEffort, First} }

func (p *Policy) fromMapping() { p.Word = Quorum }

func (m *Merge) fromText(text string) error {
	if err := checkWord(text, m.shortTexts()); err != nil {
		return fmt.Errorf("%w; one branch's row is written {select: branch}", err)
	}
	m.Word = text
	return nil
}

func (*Merge) shortTexts() []string { return []string{Union, Nested} }

func (m *Merge) fromMapping() { m.Word = SelectBranch }

func (e *Each) elements() *[]string { return &e.Values }

func (e *Every) fromText(text string) error {
	if strings.Contains(text, " ") {
		return fmt.Errorf("%s is not one word; a cron expression is written {cron: \"0 2 * * *\"}", quote(text))
	}
	e.Word = text
	return nil
}

func (*Every) shortTexts() []string { return nil }
