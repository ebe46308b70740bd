package pipeline

import "fmt"

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
