"""The words a goal is judged by: English, Chinese, Japanese, Korean (engine.md 4.2)."""

from __future__ import annotations

import re
from typing import Final

DENSE: Final = 5
"""So many enumeration commas make a list of things to do."""
CLAUSE: Final = 8
"""What a clause must say at least to count as one; see `goal_shape.estimate`."""

_VERBS: Final = (
    "analy[sz]e|assess|audit|benchmark|build|calculate|check|collect|compare|compile|compose|create"
    "|deploy|design|develop|document|draft|edit|estimate|evaluate|extract|find|fix|gather|generate"
    "|implement|improve|integrate|investigate|migrate|optimi[sz]e|outline|plan|prepare|present"
    "|prototype|publish|refactor|report|research|review|scan|search|summari[sz]e|survey|test"
    "|translate|update|validate|verify|write"
)
_ZH: Final = (
    "调研|调查|研究|分析|编写|撰写|写|设计|实现|开发|测试|部署|翻译|总结|收集|整理|审查|检查|核对"
    "|生成|制作|评估|验证|优化|起草|规划"
)
_JA: Final = "調査|分析|作成|設計|実装|テスト|翻訳|要約|レビュー|収集|整理|検証|評価|開発"
_KO: Final = "조사|분석|작성|설계|구현|테스트|번역|요약|검토|수집|정리|검증|평가|개발"


def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


ABOUT: Final = re.compile(
    r"^\W*(?:please\s+)?(?:(?:can|could)\s+you\s+)?(?:"
    r"(?:explain|describe|define|discuss|tell\s+(?:me|us))\b(?!.*\bthen\s+(?:" + _VERBS + r")\b)"
    r"|(?:what|why|how|who|when|where|which|is|are|does|do|did|should)\b"
    r"|(?:请问|请?解释|请?说明|请?介绍|请?描述|什么是|什么叫|为什么|为何|如何|怎么|怎样)"
    r"|[^。？！]{1,40}(?:とは何|について説明|を説明|란\s*무엇|이란|무엇인가|에\s*대해\s*설명|을\s*설명|를\s*설명)"
    r")",
    re.IGNORECASE | re.DOTALL,
)
"""A question or a wish for an explanation."""

LIST_ITEM: Final = re.compile(r"(?:^|\n|[\s,;:(，；：（])\(?(\d{1,2})[.)、）](?=\D)\s*")
STEP: Final = _re(r"\b(?:step|phase|stage)\s*(\d+)")

PLAIN_SIGNS: Final = (
    ("circled digits", re.compile("[\u2460-\u2473].*?[\u2460-\u2473]", re.DOTALL)),
    (
        "numbered steps",
        re.compile(
            r"第一(?:步|阶段|段階|个阶段)?[，、,:：]?.+?第二|第1(?:步|段階).+?第2|[12]단계.+?[23]단계"
            r"|첫째.+?둘째|第一に.+?第二に",
            re.DOTALL,
        ),
    ),
)
"""What is an order to divide work wherever it stands."""

HINTS: Final = (
    (
        "sequence",
        _re(
            r"\bfirst(?:ly)?\b.+?\b(?:then|next|after\s+that|afterwards|secondly|finally|lastly)\b"
        ),
    ),
    (
        "sequence",
        re.compile(
            r"首先.+?(?:然后|接着|其次|再|最后|最終)|先(?!生|进|前|天|锋|驱).{1,60}?(?:再(?!见|次|度)|然后|接着|之后|最后)"
            r"|まず.+?(?:次に|それから|その後|最後に)|먼저.+?(?:그\s*다음|다음으로|그리고\s*나서|그\s*후|마지막으로)",
            re.DOTALL,
        ),
    ),
    (
        "coordination",
        _re(
            r"(?:^|[.!?;,:\n]\s*|\b(?:and|then|please|must|should)\s+)(?:"
            r"collaborate\s+(?:with|on)|coordinate\s+(?:with\s+)?(?:the|your)\s+(?:team|agents|others)"
            r"|work\s+together|review\s+each\s+other)"
        ),
    ),
    (
        "coordination",
        re.compile(
            r"(?:互相|相互)(?:审查|审阅|评审|检查|校对)|分工(?:合作|协作|完成)|(?:协同|共同|一起|协作)完成"
            r"|与[^，。]{1,12}(?:协作|合作)|協力して|分担して|互いに(?:レビュー|確認)"
            r"|(?:협력|협업)(?:하여|해서|해\s)|서로\s*(?:검토|리뷰)|분담(?:하여|해서)"
        ),
    ),
    ("parallel", _re(r"\b(?:in\s+parallel|simultaneously|concurrently|at\s+the\s+same\s+time)\b")),
    (
        "parallel",
        re.compile(
            r"同时(?:进行|执行|完成|开展|处理)|并行(?:地|进行|执行|处理|完成)|分头"
            r"|並行して|並列で|同時に|동시에|병렬로"
        ),
    ),
    (
        "two orders",
        re.compile(
            rf"(?:{_ZH}).{{1,40}}?(?:并且?|然后|接着|之后|再|[，,；])\s*(?:请|再|并)?\s*(?:{_ZH})"
            rf"|(?:{_JA})(?:して(?:から)?|し|した後)[、,]?.{{0,40}}?(?:{_JA})"
            rf"|(?:{_KO})(?:하고|한\s*(?:후|다음|뒤)|해서|하여)[,\s].{{0,40}}?(?:{_KO})",
            re.DOTALL,
        ),
    ),
)
"""What is an order to divide work unless the goal only asks about something."""

ORDER: Final = _re(rf"^\W*(?:please\s+)?(?:(?:can|could)\s+you\s+)?(?:{_VERBS})\b")
NEXT_ORDER: Final = _re(
    rf"(?:,|\band|\bthen|\bplus)\s+(?:then\s+|also\s+|finally\s+)?(?:{_VERBS})\b"
)
INFINITIVE: Final = _re(r"\b(?:to|can|will|that|which|who)\s+\w+\s*$")
