// Package tokens counts the tokens of texts: exactly for OpenAI's encodings, by calibration for
// Claude, and by a guess from the bytes where speed is worth more than precision.
//
// For gives a Counter by the name that policies use. Counters are safe for concurrent use and never
// fail. They count a text alone: what a provider adds to frame a message is left out, but for
// claude and estimate, whose calibration takes it in.
//
// # How
//
// o200k_base and cl100k_base: the vocabularies are those that github.com/tiktoken-go/tokenizer
// carries, in tables of their own (vocab, table); the split patterns are written out by hand
// (split.go; plain.go for pieces of ASCII, most of a text), the counts of short merged pieces are remembered (merged.go), and long pieces merge through a heap (heap.go). Tests hold both to the published
// pattern in a backtracking engine and to the textbook merge, on drawn texts and on transcripts.
// They are held to the library's own Count only where that follows the pattern: v0.10.0 skips
// U+007F, and it cuts blanks with several groups of line breaks ("\n  \n") behind the first group
// where the pattern has it behind the last.
//
// claude: Anthropic publishes no vocabulary. On what Claude 4.5 and 4.6 charged, a text costs 1.25
// times its o200k_base tokens, with little difference between the models, and a message about 110
// tokens of framing; see charged. A single factor fits neither short nor long texts: 1.45, right
// for 2,000 characters, is a quarter too high for 20,000.
//
// estimate: an automaton over bytes guesses o200k_base's count (machine.go), and from there on it
// is claude's. It aims at Claude because that is the highest: a threshold may be passed a little
// early, a window is never overrun. For OpenAI's models it is 1.3 to 1.5 times the truth; who wants
// them exact has o200k_base at a fifth of the speed.
//
// # Accuracy
//
// The counter's figure over the provider's, on appends of more than 1,500 characters
// (TestCountsAsCharged; -v prints more):
//
//	charged by, rows                         counter       p10   p25   p50   p75   p90
//	gpt-4o-mini, 4                           o200k_base   0.93  0.99  0.99  0.99  0.99
//	                                         estimate     1.34  1.35  1.38  1.38  1.38
//	Claude Sonnet 4.5, exact, 38             o200k_base   0.66  0.72  0.75  0.78  0.80
//	                                         claude       0.97  1.04  1.08  1.09  1.15
//	                                         estimate     0.99  1.02  1.08  1.13  1.17
//	Claude, exact, 67                        claude       0.50  0.57  1.04  1.09  1.14
//	                                         estimate     0.48  0.57  1.02  1.11  1.14
//	  with the previous output               claude       1.03  1.08  1.13  1.17  1.21
//	                                         estimate     1.02  1.07  1.12  1.17  1.20
//	Claude, all with a short output, 931     claude       0.91  1.00  1.08  1.13  1.17
//	  with the previous output               estimate     0.90  1.00  1.08  1.11  1.15
//	of these over 15,000 characters, 127     claude       1.06  1.09  1.11  1.13  1.17
//	  with the previous output               estimate     1.06  1.08  1.10  1.12  1.14
//
// What a prompt grew by covers the previous output as well as the appended results, in rows marked
// exact too: after long calls that is most of it, which is where p10 and p25 of the third group
// come from. Texts under 1,500 characters are dominated by framing; no bound is claimed for them.
// The transcripts are of English, code and logs; how far estimate is from o200k_base on other
// scripts and encodings TestEstimateOfKinds prints: within 6 % on thirteen languages, down to
// 0.57 of it on random ASCII signs, up to 1.5 times on text in capitals.
//
// # Speed and memory
//
// MB for each second of processor time, on one core of a shared two-core EPYC, the best of 15 passes while other work ran; transcripts with
// nothing else running (BenchmarkCount and BenchmarkTranscripts have the same texts); no allocations:
//
//	              code   prose   JSON   log   transcripts
//	o200k_base     408     632    296   255   161 to 170
//	cl100k_base    407     625    294   256   117 to 121
//	claude         408     645    297   255   165 to 167
//	estimate      1029    1021   1025  1025   835 to 843
//
// The codec's own Count takes 30 to 50 times as long as o200k_base in the same run.
//
// A text takes time in proportion to its length, but for a single piece of over 64 bytes, an
// endless word or run of one sign: n·log n, 2 to 7 MB/s, and 20 bytes of memory for each of its
// own while it runs (TestWorstCaseTimes). Texts over 2 GiB are not supported.
//
// The first use of o200k_base takes about 40 ms and 17 MB for good (the library's map among them),
// of cl100k_base 20 ms and 8 MB, of estimate 5 kB; claude shares o200k_base's.
package tokens
