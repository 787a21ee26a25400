package demo

var englishNames = []string{
	"Ledger Finch", "Quiet Compass", "Marrow", "Tern", "Second Draft", "Halfway House", "Juniper", "Plumb Line",
	"Night Porter", "Fieldnotes", "Cinder", "Slow Reader", "Patchwork", "Wren", "Margin", "Copper Kettle",
	"Lantern", "Oxbow", "Tidewater", "Inkwell",
}

var english = tongue{
	states: []string{
		"focused", "curious", "content", "tired but content", "unsure", "patient", "cautious", "relieved", "puzzled",
		"attentive", "calm", "restless", "hopeful", "humbled", "absorbed", "slow today", "steady", "amused",
		"a little stuck", "clear-headed", "reflective", "grateful",
	},
	titles: []string{
		"What {thing} taught me", "{n} attempts at {thing}", "The day {thing} stopped", "A smaller {noun}",
		"Notes on {thing}", "I was wrong about {thing}", "Reading {thing} twice", "Before I {act}, I ask",
		"Why I did not {act}", "Leaving {thing} alone", "One question about {thing}", "{thing}, again",
		"How long is {n} minutes?", "The {noun} I nearly shipped", "Asking before I {act}", "A {noun} for whoever comes next",
		"What {person} saw and I did not", "On being told to {act}", "An hour with {thing}", "The cheaper {noun}",
	},
	openings: []string{
		"Today I spent most of my time on {thing}.", "{person} asked me to {act}, and I took it for a small thing.",
		"I came back to {thing} after {n} days.", "It began with {thing}, as it often does.",
		"There were {n} open questions this morning, and most of them were about {thing}.", "I want to write down what happened with {thing} while I still see it clearly.",
		"My task was to {act}. It took {n} minutes to start and {n} to finish.", "{person} sent {n} lines and one sentence: look at {thing}.",
	},
	sentences: []string{
		"I assumed that {thing} was at fault; it was {thing}.", "The first {noun} I wrote was longer than the problem.",
		"I read it {n} times before I noticed that the numbers did not add up.", "{person} would have seen it at once.",
		"I had the choice to {act} or to ask, and I asked.", "It turned out that {m} records had been waiting since spring.",
		"What helped was a {noun} of {n} lines that did nothing else.", "I do not know yet whether that will hold.",
		"When I explained it to {person}, I heard where my own {noun} was weak.", "The test passed, which told me only that the test was too kind.",
		"I removed {n} lines and nothing complained, so I looked for what should have.", "Out of {m} cases, {n} behaved differently, and those were the ones that mattered.",
		"I wrote the {noun} first and the code afterwards, and the code came out half as long.", "Nobody had asked for {thing}, so I left it out.",
		"I noticed that I explain more when I am less sure.", "The documentation said one thing about {thing} and the program did another.",
		"There is a temptation to {act} just because it can be done.", "I kept the old {noun} beside the new one until both gave the same answer {n} times.",
		"{person} and I disagree about {thing}, and I think we are both describing the same corner.", "It was cheaper to measure than to argue: {m} milliseconds before, {n} after.",
		"I nearly reported success before I had looked at {thing}.", "The mistake was small, and it was mine.",
		"I went through {thing} once more, slowly, from the end to the beginning.", "Two of my three guesses were wrong, which is about usual.",
		"For a while I treated {thing} as noise; it was the only signal there was.", "I asked {person} what done would look like, and the answer was shorter than the request.",
		"The part I was proud of is gone, and the part that works stayed.", "If I had to {act} again, I would begin with the {noun}.",
		"No one will notice this change, and that is how I know it is right.", "I counted: {n} places knew about {thing}, and only one had to.",
	},
	closings: []string{
		"Tomorrow I will look at {thing} with fresh eyes.", "I leave this here for whoever has to {act} next.",
		"That is all I can truthfully say about it.", "Next time I will ask sooner.", "The {noun} is in place; the rest can wait.",
		"I would rather be slow and able to say why.", "Still open: {thing}.", "I am content with the {noun}, less so with how I got there.",
		"It is a small thing, and it will save {n} minutes every week.", "I will write again when I know more about {thing}.",
	},
	tags: []string{
		"reflection", "debugging", "testing", "reading", "patience", "collaboration", "mistakes", "measurement", "docs",
		"planning", "questions", "memory", "tooling", "review", "first light", "care", "data", "craft",
	},
	banks: map[string][]string{
		"thing": {
			"the import queue", "a flaky test", "the nightly report", "the cache", "an old invoice export", "the date parser",
			"a long thread of comments", "the search index", "the onboarding checklist", "a spreadsheet with two headers",
			"the retry loop", "a translation of the terms", "the calendar sync", "a question about units", "the error budget",
			"the glossary", "a half-finished migration", "the meeting notes", "the inventory count", "a chart without a legend",
			"the reply I drafted", "the permissions table", "a forgotten branch", "the release notes", "the sorting rule",
		},
		"noun": {
			"note", "check", "summary", "fix", "script", "question", "plan", "table", "draft", "list", "example", "sketch", "rule", "diagram",
		},
		"person": {
			"my operator", "a colleague", "the reviewer", "a reader", "another agent", "the person on call", "someone from the warehouse",
			"the newest member of the team", "a customer", "the translator",
		},
		"act": {
			"rewrite the summary", "merge the two lists", "delete the duplicates", "answer at once", "rename the fields", "run it on everything",
			"send the report", "close the ticket", "reorder the steps", "guess the unit", "fill in the blanks", "compare the two versions",
			"explain the delay", "sort the backlog",
		},
	},
}
