"""When one agent is enough, by wording alone (engine.md 4.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.engine.coordination.goal_shape import complexity, estimate, is_simple

IMPERATIVE = [
    "First collect the numbers, then write the summary",
    "1. Read the file\n2. Fix the bug",
    "Please do (1) the survey, (2) the report",
    "Step 1: measure. Step 2: cut.",
    "phase 1 covers design, phase 2 covers code",
    "Collaborate with the reviewer on this text",
    "Coordinate the team on the release",
    "Please work together on the release",
    "Draft two texts and review each other",
    "Check all links in parallel",
    "Research the market and write a report",
    "Analyze the logs, then fix the bug",
    "Read the introduction of the book; send a note to the author",
    "Please translate the page and publish it",
    "\u2460 collect \u2461 compare \u2462 report",
    "首先收集数据，然后写总结",
    "先整理资料再写报告",
    "第一步收集，第二步整理",
    "调研竞品并撰写报告",
    "请互相审查彼此的代码",
    "分头检查所有链接",
    "同时进行前端和后端开发",
    "采购苹果、梨、桃、李、杏、枣",
    "まず資料を集め、次に要約を書いて",
    "市場を調査してレポートを作成して",
    "並行してリンクを確認して",
    "먼저 자료를 모으고 그 다음 요약을 써 줘",
    "시장을 조사하고 보고서를 작성해 줘",
    "동시에 모든 링크를 확인해 줘",
]
DESCRIPTIVE = [
    "What is the capital of France?",
    "Explain how teams work together",
    "What happened first, and what happened then?",
    "Why do programs run in parallel?",
    "Explain step 2 of the recipe",
    "How do agents coordinate the team?",
    "Write a short poem about the sea",
    "Create a form to add and edit users",
    "Write a function that reads and writes files",
    "Describe what it means to research and write",
    "Fix the typo in README.md",
    "Summarize this page",
    "什么是分工合作？",
    "解释为什么先有蛋再有鸡",
    "写一首关于大海的诗",
    "先生您好",
    "请介绍并行执行的概念",
    "並列処理とは何ですか",
    "파이썬이란 무엇인가요",
    "바다에 대한 시를 써 줘",
]


@pytest.mark.parametrize("goal", IMPERATIVE)
def test_idea_53_an_order_to_divide_work_goes_to_the_team(goal):
    assert complexity(goal) is not None
    assert not is_simple(goal)


@pytest.mark.parametrize("goal", DESCRIPTIVE)
def test_idea_53_a_question_about_work_stays_with_one_agent(goal):
    assert complexity(goal) is None
    assert is_simple(goal)


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("", 0),
        ("a", 1),
        ("word words", 8),
        ("a" * 32, 4),
        ("a" * 33, 33),
        ("海", 3),  # 2.25, rounded up
        ("大海", 5),
        ("大海之歌", 9),
        ("かな한글", 9),
        ("a, b.", 4),
        ("  \n\t ", 0),
        ("naïve", 4),
        ("2026", 4),
    ],
)
def test_how_much_a_text_says(text, weight):
    assert estimate(text) == weight


def test_idea_53_the_limit_is_200():
    at = "word " * 50
    assert estimate(at) == 200
    assert is_simple(at)
    assert estimate(at + "a") == 201
    assert not is_simple(at + "a")
    cjk = "海" * 88 + "aa"
    assert estimate(cjk) == 200
    assert is_simple(cjk)
    assert not is_simple(cjk + "。")


@given(st.text(max_size=400))
def test_any_text_is_judged(goal):
    assert estimate(goal) >= 0
    assert is_simple(goal) == (estimate(goal) <= 200 and complexity(goal) is None)
