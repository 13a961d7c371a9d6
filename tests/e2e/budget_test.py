#!/usr/bin/env python3
"""Budgets, prices, summaries and the trace of a turn, through the real daemons."""

import os

import bundles
from world import WorldTest, main

STEPS = ["load_session", "resolve_bundle", "choose_mode", "prepare_cell", "build_rules", "build_prompt",
         "select_tools", "resolve_model", "build_memory", "run_executor", "collect_history", "persist_turn"]


def usage(tokens_in, tokens_out):
    return {"usage": {"input": tokens_in, "output": tokens_out}}


def rounds(count, tokens=100):
    """That many calls of Bash, each answer of so many tokens."""
    steps = []
    for _ in range(count):
        steps += [usage(tokens - 10, 10), bundles.bash("true")]
    return [*steps, usage(tokens - 10, 10), bundles.say("done")]


class BudgetTest(WorldTest):

    def bundle(self, steps, **options):
        return bundles.write(self.world.make_directory(self.id().rpartition(".")[2]), steps, **options)

    def test_tokens_end_the_turn_and_refuse_the_next(self):
        path = self.bundle(rounds(9))
        session = self.world.ctl("session", "create", path, "--max-tokens", "250").out.strip()
        done = self.world.ctl("run", path, "--session", session, "--prompt", "go")
        self.assertEqual(done.code, 1, done)
        self.assertIn("turn failed: the budget of 250 tokens is used up: 300 tokens used", done.out)
        shown = self.world.json("session", "show", session)
        self.assertEqual(shown["budget"]["tokens"], 250)
        self.assertEqual((shown["used"]["tokens"], shown["used"]["tool_calls"]), (300, 2))
        self.assertIn("300 of 250 tokens", self.world.ctl("session", "show", session).out)
        refused = self.world.ctl("run", path, "--session", session, "--prompt", "more")
        self.assertEqual(refused.code, 1, refused)
        self.assertIn("the budget of 250 tokens is used up: 300 tokens used; make another session",
                      refused.err)

    def test_a_provider_that_reports_nothing_is_bounded_all_the_same(self):
        done = self.world.ctl("run", self.bundle([bundles.bash("true"), bundles.say("done")]),
                              "--prompt", "go", "--max-tokens", "20")
        self.assertEqual(done.code, 1, done)
        self.assertIn("the budget of 20 tokens is used up", done.out)

    def test_tool_calls_and_time(self):
        done = self.world.ctl("run", self.bundle(rounds(3)), "--prompt", "go", "--max-tool-calls", "2")
        self.assertEqual(done.code, 1, done)
        self.assertIn("the budget of 2 tool calls is used up", done.out)
        done = self.world.ctl("run", self.bundle([bundles.bash("sleep 60")]), "--prompt", "go",
                              "--max-time", "1s")
        self.assertEqual(done.code, 1, done)
        self.assertIn("the budget of 1000 ms of running turns is used up", done.out)

    def test_wrong_values_are_named(self):
        path = self.bundle([bundles.say("x")])
        for option, value in (("--max-cost", "1e3"), ("--max-tokens", "0"), ("--max-time", "soon")):
            done = self.world.ctl("run", path, "--prompt", "go", option, value)
            self.assertEqual(done.code, 2, done)
            self.assertIn(f'{option} "{value}"', done.err)
        session = self.world.ctl("session", "create", path).out.strip()
        done = self.world.ctl("run", path, "--session", session, "--prompt", "go", "--max-tokens", "5")
        self.assertEqual(done.code, 2, done)
        self.assertIn("--max-tokens: said when a session is made, not later", done.err)

    def test_the_trace_has_the_steps_in_their_order(self):
        path = self.bundle(rounds(1))
        session = self.world.ctl("session", "create", path).out.strip()
        plain = self.world.ctl("run", path, "--session", session, "--prompt", "go")
        self.assertEqual(plain.code, 0, plain)
        self.assertNotIn("build_memory", plain.out)
        traced = self.world.ctl("run", path, "--session", session, "--prompt", "go", "--trace")
        self.assertIn("· build_memory", traced.out)
        self.assertIn("· build_memory", self.world.ctl("session", "events", session).out)
        turns = [turn["id"] for turn in self.world.json("session", "show", session)["turns"]]
        for words in ((turns[0],), (turns[1],), ()):
            steps = self.world.ctl("-o", "json", "turn", "trace", session, *words).lines()
            names = [step["step"] for step in steps]
            self.assertEqual([name for name in names if name != "model_call"], STEPS)
            self.assertEqual(names.count("model_call"), 2)
            self.assertEqual({step["turn_id"] for step in steps}, {words[0] if words else turns[1]})
            call = steps[names.index("model_call")]
            self.assertEqual(call["usage"]["input_tokens"], 90)
        table = self.world.ctl("turn", "trace", session).out
        self.assertRegex(table, r"STEP +TOOK +DETAIL")
        self.assertRegex(table, r"run_executor +[\d.]+ m?s +2 model calls, 1 tool calls")
        missing = self.world.ctl("turn", "trace", session, "trn_none")
        self.assertEqual(missing.code, 1, missing)
        self.assertIn("turn trn_none", missing.err)

    def test_a_summary_is_made_once_and_kept_over_a_restart(self):
        asked = {"value": "${prompt}", "matches": "^Summarise the earlier messages"}
        steps = [{"if": asked, "then": [usage(40, 4), bundles.say("they talked")],
                  "else": [bundles.say("you said ${prompt}")]}]
        memory = {"type": "prebuilt", "id": "summarizing_window",
                  "config": {"max_window": 4, "summary_tokens": 100}}
        path = self.bundle(steps, memory=memory)
        session = self.world.ctl("session", "create", path).out.strip()

        def turns(*prompts):
            for prompt in prompts:
                done = self.world.ctl("run", path, "--session", session, "--prompt", prompt)
                self.assertEqual(done.code, 0, done)
            return done

        def summaries():
            events = self.world.ctl("-o", "json", "session", "events", session).lines()
            return [event["payload"]["payload"] for event in events
                    if event["payload"]["type"] == "history_summarized"]

        turns("a", "b", "c")
        self.assertEqual(summaries(), [])
        self.assertIn("the first 4 messages of the session are summarised", turns("d").out)
        made = summaries()
        self.assertEqual([(each["messages"], each["summary"]) for each in made], [(4, "they talked")])
        self.assertEqual(made[0]["usage"]["input_tokens"], 40)
        self.world.down()
        self.world.up()
        turns("e")
        self.assertEqual(summaries(), made)
        trace = self.world.ctl("turn", "trace", session).out
        self.assertRegex(trace, r"build_memory .*a summary of 4 messages")


class PriceTest(WorldTest):

    def bundle(self, steps):
        return bundles.write(self.world.make_directory(self.id().rpartition(".")[2]), steps)

    def prices(self, text):
        self.world.down()
        with open(os.path.join(self.world.state, "prices.yaml"), "w", encoding="utf-8") as file:
            file.write(text)

    def test_money_needs_a_price_and_is_bounded_by_it(self):
        path = self.bundle(rounds(9))
        done = self.world.ctl("run", path, "--prompt", "go", "--max-cost", "0.50")
        self.assertEqual(done.code, 1, done)
        self.assertIn("model script/scenario.yaml has no price; the operator sets it", done.err)
        self.assertEqual(self.world.json("session", "list")["sessions"], [])

        self.prices("models:\n  script/scenario.yaml: {input: 1000, output: 10000}\n")
        self.world.up()
        # 90 in and 10 out: 0.09 and 0.10 dollars.
        session = self.world.ctl("session", "create", path, "--max-cost", "0.50").out.strip()
        done = self.world.ctl("run", path, "--session", session, "--prompt", "go")
        self.assertEqual(done.code, 1, done)
        self.assertIn("the budget of $0.50 is used up: $0.57 used", done.out)
        self.assertIn("$0.57 of $0.50", self.world.ctl("session", "show", session).out)
        done = self.world.ctl("-o", "json", "run", self.bundle(rounds(1)), "--prompt", "go")
        ended = [line["payload"]["payload"] for line in done.lines()
                 if line["payload"]["type"] == "turn_completed"]
        self.assertEqual(ended[0]["usage"]["cost_microdollars"], 380_000)

    def test_a_malformed_file_stops_the_start_with_its_line(self):
        self.prices("models:\n  script/scenario.yaml: {input: x, output: 1}\n")
        done = self.world.start_up().ended()
        self.assertNotEqual(done.code, 0, done)
        self.assertIn("prices.yaml:2: models.script/scenario.yaml.input: must be a number of dollars",
                      done.out + done.err)
        self.prices("models: {}\n")
        self.world.up()


if __name__ == "__main__":
    main()
