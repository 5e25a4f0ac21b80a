package skills

import "strings"

// Nearest returns the name that word was likely meant to be: the one with the
// fewest edits, when they are few for its length; "" when none is near.
func Nearest(word string, names []string) string {
	word = strings.ToLower(word)
	best, least := "", len(word)/3+2
	for _, name := range names {
		edits := distance(word, strings.ToLower(name))
		if edits < least || (edits == least && best != "" && name < best) {
			best, least = name, edits
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that make b out of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
