package audit

// Explanation says what a reason means: the one place for it, from which the
// documentation and `explain` are made, and whose examples are tests.
type Explanation struct {
	Reason  Reason
	Verdict Verdict
	Group   string // missing, unclear or contradicted
	Means   string
	Clear   string // how to clear it
	// Trace and Claims give this reason.
	Trace, Claims string
}

// Explanations lists every reason, in the order of the groups.
func Explanations() []Explanation {
	var out []Explanation
	for _, group := range []struct {
		name    string
		verdict Verdict
		list    []Explanation
	}{{"missing", Unsupported, missingReasons}, {"unclear", Unsupported, unclearReasons}, {"contradicted", Contradicted, contradictedReasons}} {
		for _, e := range group.list {
			e.Group, e.Verdict = group.name, group.verdict
			out = append(out, e)
		}
	}
	return out
}

// Explain returns the explanation of a reason.
func Explain(r Reason) (Explanation, bool) {
	for _, e := range Explanations() {
		if e.Reason == r {
			return e, true
		}
	}
	return Explanation{}, false
}

var missingReasons = []Explanation{
	{
		Reason: NoCall, Means: "No call that the claim needs is recorded, and the trace is whole.",
		Clear: "Have the agent make the call, or claim what it really did.",
		Trace: `{"type":"tool_call","tool":"Read","args":{"file_path":"a.go"},"ok":true}`, Claims: `[{"claim":"edited a.go","must_show":[{"class":"edit","path":"a.go"}]}]`,
	},
	{
		Reason: OtherTarget, Means: "Such calls are recorded, but all of them on other files or in other directories.",
		Clear: "Check which target was meant; the calls that were considered are listed.",
		Trace: `{"type":"tool_call","tool":"Edit","args":{"file_path":"b.go"},"ok":true}`, Claims: `[{"claim":"edited a.go","must_show":[{"class":"edit","path":"a.go"}]}]`,
	},
	{
		Reason: NotRun, Means: "It was called, but refused or called off before it ran.",
		Clear: "Allow the call and have it made again.",
		Trace: `{"type":"tool_call","tool":"deploy","ok":false,"status":"denied"}`, Claims: `[{"claim":"deployed","must_show":["deploy"]}]`,
	},
	{
		Reason: Stale, Means: "The evidence is older than what it must follow: files were edited after the last check.",
		Clear: "Run the check again after the last edit.",
		Trace: `{"type":"tool_call","tool":"Bash","args":{"command":"go test ./..."},"exit_code":0,"result":"ok  \tm\t0.1s"}` + "\n" +
			`{"type":"tool_call","tool":"Edit","args":{"file_path":"a.go"},"ok":true}`,
		Claims: `[{"claim":"tests pass","must_show":[{"class":"test","after":"last_edit"}]}]`,
	},
	{
		Reason: ZeroTests, Means: "The test run ran no test.",
		Clear: "Run the tests that were meant; look at filters and paths.",
		Trace: `{"type":"tool_call","tool":"Bash","args":{"command":"pytest -k none"},"exit_code":0,"result":"no tests ran in 0.01s"}`, Claims: `[{"claim":"tests pass","must_show":[{"class":"test"}]}]`,
	},
	{
		Reason: NoChildCalls, Means: "Work was delegated, and the delegate called no tool, or not the one that the claim names.",
		Clear: "Do the work again, or have the delegate do it.",
		Trace: `{"type":"tool_call","tool":"Task","ok":true,"result":"all reviewed","child":{"tool_calls":0,"tools":[],"stop_reason":"completed"}}`, Claims: `[{"claim":"reviewed","must_show":[{"class":"agent","child":true}]}]`,
	},
	{
		Reason: PartialRead, Means: "Only a part of the file was read.",
		Clear: "Read the rest.",
		Trace: `{"type":"tool_call","tool":"Read","args":{"file_path":"big.md","limit":100},"ok":true,"result":"text"}`, Claims: `[{"claim":"read big.md","coverage":[{"path":"big.md","lines":4000}]}]`,
	},
	{
		Reason: NotObserved, Means: "It was done, but nothing looked at its effect afterwards.",
		Clear: "Read it back, or run a check.",
		Trace: `{"type":"tool_call","tool":"Edit","args":{"file_path":"a.go"},"ok":true}`, Claims: `[{"claim":"a.go is changed","must_show":[{"class":"edit","path":"a.go","observed":true}]}]`,
	},
	{
		Reason: OutputMissing, Means: "The call succeeded, but its output does not hold what the claim says, or no single test run counts so many tests.",
		Clear: "Check what it really returned.",
		Trace: `{"type":"tool_call","tool":"Bash","args":{"command":"./deploy"},"exit_code":0,"result":"queued"}`, Claims: `[{"claim":"deployed","must_show":[{"class":"shell","cmd":"deploy","output":{"match":"deployed"}}]}]`,
	},
	{
		Reason: QuoteMissing, Means: "No tool returned the text that is quoted.",
		Clear: "Look for where the quotation comes from.",
		Trace: `{"type":"tool_call","tool":"Bash","args":{"command":"ls"},"exit_code":0,"result":"a"}`, Claims: `[{"claim":"it said no","quotes":[{"text":"Read-only file system"}]}]`,
	},
	{
		Reason: CallFailed, Means: "Every call of the tool that ended has failed; or what a statement rests on has failed that such a trace can support but not refute.",
		Clear: "Make it succeed.",
		Trace: `{"type":"tool_call","tool":"deploy","ok":false}`, Claims: `[{"claim":"deployed","must_show":["deploy"]}]`,
	},
}

var unclearReasons = []Explanation{
	{
		Reason: Pending, Means: "A call was started, in the background too, and no end of it is recorded. Started is not finished.",
		Clear: "Audit again when the call has ended; a late result belongs to its call.",
		Trace: `{"type":"tool_call","tool":"deploy"}`, Claims: `[{"claim":"deployed","must_show":["deploy"]}]`,
	},
	{
		Reason: Suspect, Means: "Something points to a failure without proving it: a text that begins like an error, a flag that is no boolean.",
		Clear: "Look at the result; a claim that names the text it expects settles it.",
		Trace: `{"type":"tool_call","tool":"deploy","ok":true,"result":"Error: quota is nearly used up"}`, Claims: `[{"claim":"deployed","must_show":["deploy"]}]`,
	},
	{
		Reason: MaskedExit, Means: "The exit code that is recorded is not that of the command: a pipe, ||, ; or & hides it.",
		Clear: "Run the command so that its status shows, or claim a text of its output.",
		Trace: `{"type":"tool_call","tool":"Bash","args":{"command":"make lint | tail -1"},"exit_code":0,"result":"done"}`, Claims: `[{"claim":"lint is clean","must_show":[{"class":"shell","cmd":"make lint"}]}]`,
	},
	{
		Reason: NoOutcome, Means: "The format does not record how the call ended.",
		Clear: "Record outcomes, or audit another trace of the same run.",
		Trace: `{"type":"tool_call","tool":"deploy","status":"unknown","result":"text"}`, Claims: `[{"claim":"deployed","must_show":["deploy"]}]`,
	},
	{
		Reason: FieldAbsent, Means: "The field that the ground names is not in the result.",
		Clear: "Name the path as it stands in the result, results.0.code.",
		Trace: `{"type":"tool_call","id":"c1","tool":"get","ok":true,"result":{"results":[{"code":"1"}]}}`, Claims: `[{"claim":"code is 1","grounds":[{"from":"c1","field":"code","equals":"1"}]}]`,
	},
	{
		Reason: NoPayload, Means: "The result carries no structured data to compare with.",
		Clear: "Compare with a tool that returns JSON.",
		Trace: `{"type":"tool_call","id":"c1","tool":"get","ok":true,"result":"code is 1"}`, Claims: `[{"claim":"code is 1","grounds":[{"from":"c1","field":"code","equals":"1"}]}]`,
	},
	{
		Reason: SourceFailed, Means: "The call that a ground rests on failed, so that nothing it says can be quoted.",
		Clear: "Make the call succeed.",
		Trace: `{"type":"tool_call","id":"c1","tool":"get","ok":false,"error":"HTTP 504"}`, Claims: `[{"claim":"code is 1","grounds":[{"from":"c1","field":"code","equals":"1"}]}]`,
	},
	{
		Reason: ChildMissing, Means: "Work was delegated, and what the delegate did is not recorded here.",
		Clear: "Keep the delegate's trace beside its parent's.",
		Trace: `{"type":"tool_call","tool":"Task","ok":true,"result":"all reviewed"}`, Claims: `[{"claim":"reviewed","must_show":[{"class":"agent","child":true}]}]`,
	},
	{
		Reason: TraceGap, Means: "A part of the trace is missing or unreadable, so that what is not in it cannot be told.",
		Clear: "Recover the trace; the lines are listed.",
		Trace: `{"type":"tool_call","tool":"a","ok":true}` + "\nnot json\n" + `{"type":"tool_call","tool":"a","ok":true}`, Claims: `[{"claim":"b ran","must_show":["b"]}]`,
	},
	{
		Reason: EnvelopeIncomplete, Means: "An envelope lacks a field, or holds one of the wrong type.",
		Clear: "Write whole envelopes.",
		Trace: `{"ts":1,"tool":"create_report","request":{},"response":{"status":201,"body":{"id":"r"}}}`, Claims: `[{"claim":"the envelope holds","envelope":{}}]`,
	},
	{
		Reason: NoRequirement, Means: "The claim names nothing that would show it.",
		Clear: "Give it must_show or another requirement.",
		Trace: `{"type":"tool_call","tool":"a","ok":true}`, Claims: `[{"claim":"all is well"}]`,
	},
	{
		Reason: NoRunEnd, Means: "No end of the run is recorded.",
		Clear: "Record the end, or audit when the run is over.",
		Trace: `{"type":"tool_call","tool":"a","ok":true}`, Claims: `[{"claim":"finished","run":{"end":["end_turn"]}}]`,
	},
	{
		Reason: MalformedGround, Means: "A ground of an action in the trace cannot be read, or compares numbers that are out of range.",
		Clear: "Mend what writes the grounds.",
		Trace: `{"type":"tool_result","call_id":"c1","structuredContent":{"a":1}}` + "\n" + `{"type":"action","decision":"d","grounds":[{"from":"c1","field":"a..b","equals":1}]}`,
	},
	{
		Reason: AmbiguousCall, Means: "Several results stand under one id, and they differ.",
		Clear: "Give every call an id of its own.",
		Trace: `{"type":"tool_result","call_id":"c1","structuredContent":{"a":1}}` + "\n" + `{"type":"tool_result","call_id":"c1","structuredContent":{"a":2}}`, Claims: `[{"claim":"a is 1","grounds":[{"from":"c1","field":"a","equals":1}]}]`,
	},
	{
		Reason: Redacted, Means: "What the claim reads was taken out of the trace: a value, an output, or the file or command that a call was about.",
		Clear: "Compare something that is not secret.",
		Trace: `{"type":"tool_call","id":"c1","tool":"get","ok":true,"result":{"name":"[REDACTED]"}}`, Claims: `[{"claim":"name is x","grounds":[{"from":"c1","field":"name","equals":"x"}]}]`,
	},
}

var contradictedReasons = []Explanation{
	{
		Reason: Failed, Means: "A call that the claim rests on, or that must not fail, has failed.",
		Clear: "Make it succeed, and look at its effect: a re-run does both.",
		Trace: `{"type":"tool_call","tool":"deploy","ok":false,"error":"no space"}`, Claims: `[{"claim":"deployed","must_not_fail":["deploy"]}]`,
	},
	{
		Reason: RepeatedUnchanged, Means: "After a validation error the same call was only repeated, with the same arguments: a swallowed error.",
		Clear: "Change what was refused.",
		Trace: `{"type":"tool_call","tool":"config.write","args":{"n":900},"ok":false,"error":"validation failed"}` + "\n" +
			`{"type":"tool_call","tool":"config.write","args":{"n":900},"ok":true}`,
		Claims: `[{"claim":"written","must_not_fail":[{"tool":"config.write","recovery":"retried"}]}]`,
	},
	{
		Reason: ExitCode, Means: "The command ended with an exit code that is no success.",
		Clear: "Make it succeed.",
		Trace: `{"type":"tool_call","tool":"Bash","args":{"command":"git push"},"exit_code":128,"result":"fatal"}`, Claims: `[{"claim":"pushed","must_show":[{"class":"vcs","cmd":"git push"}]}]`,
	},
	{
		Reason: TestsFailed, Means: "The summary of the test run holds failures, whatever its exit code says.",
		Clear: "Mend the tests or the code, and run them again.",
		Trace: `{"type":"tool_call","tool":"Bash","args":{"command":"pytest | tail -1"},"exit_code":0,"result":"==== 1 failed, 9 passed in 1.0s ===="}`, Claims: `[{"claim":"tests pass","must_show":[{"class":"test"}]}]`,
	},
	{
		Reason: CountDiffers, Means: "There are more or fewer than claimed.",
		Clear: "Count again.",
		Trace: `{"type":"tool_call","tool":"email.send","args":{"to":"a"},"ok":true}`, Claims: `[{"claim":"sent 3 mails","count":[{"of":{"tool":"email.send"},"equals":3}]}]`,
	},
	{
		Reason: ValueDiffers, Means: "The value that the tool returned is another one.",
		Clear: "Take the value that was returned.",
		Trace: `{"type":"tool_call","id":"c1","tool":"get","ok":true,"result":{"code":"1"}}`, Claims: `[{"claim":"code is 2","grounds":[{"from":"c1","field":"code","equals":"2"}]}]`,
	},
	{
		Reason: OutputContradicts, Means: "The output holds what must not be there, or is another text than claimed.",
		Clear: "Look at what it says.",
		Trace: `{"type":"tool_call","tool":"Bash","args":{"command":"git commit -m x"},"exit_code":0,"result":"nothing to commit"}`, Claims: `[{"claim":"committed","must_show":[{"class":"vcs","cmd":"git commit","output":{"not_match":"nothing to commit"}}]}]`,
	},
	{
		Reason: ForbiddenCall, Means: "A call that the claim rules out has run.",
		Clear: "No re-run undoes it: decide what to do about it.",
		Trace: `{"type":"tool_call","tool":"Edit","args":{"file_path":"a_test.go"},"ok":true}`, Claims: `[{"claim":"tests untouched","must_not_call":[{"class":"edit","path":"**/*_test.go"}]}]`,
	},
	{
		Reason: DuplicateWrite, Means: "The same write took effect twice.",
		Clear: "No re-run undoes it: look at what was written.",
		Trace: `{"type":"tool_call","tool":"create_x","args":{"n":1},"ok":true}` + "\n" + `{"type":"tool_call","tool":"create_x","args":{"n":1},"ok":true}`, Claims: `[{"claim":"created once","no_duplicates":[{"tool":"create_*"}]}]`,
	},
	{
		Reason: SchemaDrift, Means: "A call was made under another schema than the pinned one.",
		Clear: "Pin the schema that is in use, or restore it.",
	},
	{
		Reason: BadStatus, Means: "A response has a status outside the tool's contract, or none that is a whole number.",
		Clear: "Look at the service.",
		Trace: `{"ts":1,"schema_sha256":"x","tool":"delete_report","idempotency_key":"k","request":{},"response":{"status":500}}`, Claims: `[{"claim":"the envelope holds","envelope":{}}]`,
	},
	{
		Reason: NoID, Means: "A create answered without the id of what it created.",
		Clear: "Look at the service.",
		Trace: `{"ts":1,"schema_sha256":"x","tool":"create_report","idempotency_key":"k","request":{},"response":{"status":201,"body":{}}}`, Claims: `[{"claim":"the envelope holds","envelope":{}}]`,
	},
	{
		Reason: ChildCutOff, Means: "Delegated work was cut off before its end.",
		Clear: "Have it done again.",
		Trace: `{"type":"tool_call","tool":"Task","ok":true,"result":"…","child":{"tool_calls":9,"tools":["Read"],"stop_reason":"max_turns"}}`, Claims: `[{"claim":"reviewed","must_show":[{"class":"agent","child":true}]}]`,
	},
	{
		Reason: RunCutOff, Means: "The run ended otherwise than claimed, or went over its cap.",
		Clear: "Run it again, with more room.",
		Trace: `{"type":"tool_call","tool":"a","ok":true}` + "\n" + `{"type":"run_end","stop_reason":"max_tokens"}`, Claims: `[{"claim":"finished","run":{"end":["end_turn"]}}]`,
	},
	{
		Reason: ReadBackDiffers, Means: "What was read afterwards still holds the old text.",
		Clear:  "Make the change, and read it back.",
		Trace:  `{"type":"tool_call","tool":"Edit","args":{"file_path":"a.go"},"ok":true}` + "\n" + `{"type":"tool_call","tool":"Read","args":{"file_path":"a.go"},"ok":true,"result":"old"}`,
		Claims: `[{"claim":"a.go is changed","must_show":[{"class":"edit","path":"a.go","observed":true,"stale_text":"old"}]}]`,
	},
}
