// Package lex is what the rules of tool outputs and of compactions share about text.
package lex
