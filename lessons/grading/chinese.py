"""Feedback in Chinese: the words of a student's page, and the sentences of the grader itself.

What a sheet says (titles, groups, hints, the names of mistakes) stays in the language in which its
author wrote it, and so does what Python says of an error. A sentence that no pattern here fits
stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

PAGE = {
    "✓ right": "✓ 正确",
    "○ not started": "○ 尚未开始",
    "✗ not yet": "✗ 尚未完成",
    "{points} of {most}": "{points} / {most} 分",
    "what": "内容",
    "points": "得分",
    "what was seen": "检查结果",
    "entry": "项",
    "right": "正确",
    "yours": "你的",
    "is it right?": "是否正确",
    "The first wrong node is {node}.": "第一个出错的节点是 {node}。",
    "The smallest graph that failed, step by step, with the right numbers. Where yours differ, both"
    " are red: right ≠ yours, of an array the first such entry. (Close and reopen to replay it.)": (
        "未通过的最小的图，逐步显示正确的数值。与你的数值不同之处，两者均为红色："
        "正确 ≠ 你的；数组只写第一个不同的元素。（关闭再打开可重新播放。）"
    ),
    "Hint {number} of {count}": "提示 {number}/{count}",
    "A first hint: {text}": "第一条提示：{text}",
    "You have {call} = {got}.": "你的结果：{call} = {got}。",
    "The smallest case that failed: {call} gave {got}; it should give {expected}.": (
        "未通过的最小用例：{call} 得到 {got}，应得到 {expected}。"
    ),
    "The smallest case that failed: {call} gave {got}.": "未通过的最小用例：{call} 得到 {got}。",
    "The smallest case that failed: {call}.": "未通过的最小用例：{call}。",
}
"""The words of a page, by those in English."""

KINDS = {"truth values": "真值", "whole numbers": "整数", "floats": "浮点数"}
WHY = {
    "the process ended by itself": "进程自行结束",
    "the system ended it; it may have used too much memory": "系统终止了它，可能是内存占用过多",
    "it crashed (segmentation fault); that happens in a recursion that nothing ends": (
        "它崩溃了（段错误）；无法终止的递归会造成这种情况"
    ),
    "it crashed (abort)": "它崩溃了（abort）",
    "it used too much computing time": "它用了过多的计算时间",
    "it wrote too large a file": "它写出的文件过大",
    "it took too long": "用时过长",
}
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()


def page(template: str, **values: object) -> str:
    """A text of the page. template: in English, with names in braces."""
    return PAGE[template].format(**values)


ADJOINT = {"adjoint": "伴随", "tangent": "切向量"}


OF_ANSWERS = re.compile(r"`\w+`(?: and `\w+`)*: ")
"""What a sentence begins with that is about some answers of an exercise."""


def _of_answers(text: str) -> str:
    names, sentence = text.split(": ", 1)
    return f"{names.replace(' and ', '、')}：{said(sentence)}"


def said(text: str) -> str:
    """What the grader says, in Chinese as far as it is known here."""
    if OF_ANSWERS.match(text):
        parts = re.split(f"(?<! and) (?={OF_ANSWERS.pattern})", text)
        return "".join(map(_of_answers, parts))
    for pattern, translate in SENTENCES:
        if match := pattern.fullmatch(text):
            return translate(match)
    return text


def _about(text: str) -> str:
    """The subject of a sentence: what a function returned, or an entry of it."""
    if text.startswith(("The ", "What ", "Entry ")):
        text = text[:1].lower() + text[1:]
    if (match := re.fullmatch(r"the (\w+) entry of (.+)", text)) and match[1] in ORDINALS:
        return f"{_about(match[2])}的第 {ORDINALS.index(match[1]) + 1} 项"
    if match := re.fullmatch(r"entry (\d+) of (.+)", text):
        return f"{_about(match[2])}的第 {match[1]} 项"
    if match := re.fullmatch(r"entry (\S+) of (.+)", text):
        return f"{_about(match[2])}的 {match[1]} 项"
    if match := re.fullmatch(r"what (`.+`) returned", text):
        return f"{match[1]} 返回的值"
    return f"{text} "


def _kind(text: str) -> str:
    """A value, as `words.a_kind` names it."""
    for english, chinese in (
        (r"nothing \(None\)", "空值（None）"),
        (r"the truth value (.+)", r"真值 \1"),
        (r"the number (.+)", r"数 \1"),
        (r"an array of shape (.+)", r"形状为 \1 的数组"),
        (r"a tensor of shape (.+)", r"形状为 \1 的张量"),
        (r"(?:the|a) text(.*)", r"文本\1"),
        (r"(?:the|a) list(.*)", r"列表\1"),
        (r"(?:the|a) tuple of (\d+) values?", r"含 \1 个值的元组"),
        (r"(?:the|a) tuple(.*)", r"元组\1"),
        (r"(?:the|a) dictionary(.*)", r"字典\1"),
        (r"(?:the|a) complex number(.*)", r"复数\1"),
        (r"the class (.+)", r"类 \1"),
        (r"the function (.+)", r"函数 \1"),
        (r"the module (.+)", r"模块 \1"),
        (r"an object of the type (.+)", r"类型为 \1 的对象"),
        (r"a number", "一个数"),
        (r"a function or a class", "函数或类"),
        (r"a function", "函数"),
    ):
        if match := re.fullmatch(english, text):
            return match.expand(chinese)
    return text


def _argument(text: str) -> str:
    """An argument: its name, or its place."""
    return f"参数 {text}" if text.startswith("`") else f"第 {text.removeprefix('number ')} 个参数"


def _rest(text: str | None) -> str:
    return said(text.strip()) if text else ""


_RULES: list[tuple[str, Callable[[re.Match[str]], str]]] = [
    (r"All cases are right\.", lambda m: "全部用例正确。"),
    (r"Right\.", lambda m: "正确。"),
    (
        r"(\d+) of (\d+) cases are right, for the same reason as in “(.+)”\.",
        lambda m: f"{m[2]} 个用例中 {m[1]} 个正确，原因与“{m[3]}”相同。",
    ),
    (
        r"Not right, for the same reason as in “(.+)”\.",
        lambda m: f"不正确，原因与“{m[1]}”相同。",
    ),
    (
        r"(\d+) of (\d+) cases are right\. (.+)",
        lambda m: f"{m[2]} 个用例中 {m[1]} 个正确。{_rest(m[3])}",
    ),
    (r"(`.+?`) is not defined\.( .+)?", lambda m: f"{m[1]} 未定义。{_rest(m[2])}"),
    (r"In (cell \d+): (.+)", lambda m: f"{m[1]}：{_rest(m[2])}"),
    (
        r"(`.+?`) has no value yet: write your (answer|code) in place of `\.\.\.`\.",
        lambda m: (
            f"{m[1]} 还没有值：请把 `...` 换成你的{'答案' if m[2] == 'answer' else '代码'}。"
        ),
    ),
    (
        r"(`.+?`) returns nothing yet: put your code in place of `\.\.\.`\.",
        lambda m: f"{m[1]} 还没有返回值：请把 `...` 换成你的代码。",
    ),
    (
        r"(`.+?`) returned nothing \(None\)\. Is a `return` missing\?",
        lambda m: f"{m[1]} 没有返回值（None）。是否缺少 `return`？",
    ),
    (
        r"(`.+?`) gave nothing \(None\)\. Is a `return` missing in it\?",
        lambda m: f"{m[1]} 没有给出值（None）。其中是否缺少 `return`？",
    ),
    (
        r"(`.+?`) raises NotImplementedError: put your code in its place\.",
        lambda m: f"{m[1]} 抛出了 NotImplementedError：请换成你的代码。",
    ),
    (
        r"(`.+?`) changed its argument (`.+?`|number \d+) in place\. Other code may still need it:"
        r" make a new (.+), or change a copy of it\.",
        lambda m: (
            f"{m[1]} 原地修改了{_argument(m[2])}，其他代码可能还要用它："
            "请新建一个对象，或修改它的副本。"
        ),
    ),
    (r"(`.+?`) ran out of memory(.*)\.", lambda m: f"{m[1]} 内存不足{m[2]}。"),
    (r"(`.+?`) raised (.+)", lambda m: f"{m[1]} 抛出了异常 {m[2]}"),
    (
        r"The (adjoint|tangent) of (\w+) should be ([^;]+), but is ([^;]+)\.",
        lambda m: f"{m[2]} 的{ADJOINT[m[1]]}应为 {m[3]}，实际是 {m[4]}。",
    ),
    (
        r"(`.+?`) should be (.+), but it is (.+)\.",
        lambda m: f"{m[1]} 应为{_kind(m[2])}，实际是{_kind(m[3])}。",
    ),
    (
        r"The library's own differentiation is what you are asked to write, so it is not there when"
        r" your submission is graded\.",
        lambda m: "题目要求你自己写求导，因此评分时不能使用库自带的求导功能。",
    ),
    (
        r"(.+) is what you are asked to write, so it is not there when your submission is graded\.",
        lambda m: f"题目要求你自己写 {m[1]}，因此评分时它不可用。",
    ),
    (
        r"It took too long, so it was stopped\. Is there a loop that nothing ends\?",
        lambda m: "运行时间过长，已被停止。是否有无法结束的循环？",
    ),
    (
        r"It took too long without computing anything, so it was stopped\. Does it wait for"
        r" something\?",
        lambda m: "长时间没有进行计算，已被停止。它是否在等待什么？",
    ),
    (r"It did not come back: (.+)\.", lambda m: f"它没有返回：{WHY.get(m[1], m[1])}。"),
    (
        r"It was not run: an earlier case of the same kind did not come back\.",
        lambda m: "未运行：之前的同类用例没有返回。",
    ),
    (
        r"It was not run: the cells before it took all the time that there is for cells\.",
        lambda m: "未运行：前面的单元格用完了全部时间。",
    ),
    (
        r"It was not run any more: (\d+) steps had to be stopped before it\.",
        lambda m: f"未再运行：此前已有 {m[1]} 个步骤被停止。",
    ),
    (r"It was not run any more: (.+)\.", lambda m: f"未再运行：{WHY.get(m[1], m[1])}。"),
    (
        r"(.+) has the shape (\(.*\)), but should have the shape (\(.*\))\.",
        lambda m: f"{_about(m[1])}的形状是 {m[2]}，应为 {m[3]}。",
    ),
    (
        r"(.+) has no entry for (.+)\.",
        lambda m: f"{_about(m[1])}缺少 {m[2]} 项。",
    ),
    (
        r"(.+) has an entry for (.+), which was not asked for\.",
        lambda m: f"{_about(m[1])}有多余的 {m[2]} 项。",
    ),
    (
        r"(.+) has (\d+) entr(?:y|ies), but should have (\d+)\.",
        lambda m: f"{_about(m[1])}有 {m[2]} 项，应有 {m[3]} 项。",
    ),
    (
        r"(.+) holds a number that is not finite \(NaN or infinity\)\.",
        lambda m: f"{_about(m[1])}含有非有限的数（NaN 或无穷大）。",
    ),
    (
        r"(.+) holds (.+), but should hold (.+)\.",
        lambda m: f"{_about(m[1])}是{KINDS.get(m[2], m[2])}，应为{KINDS.get(m[3], m[3])}。",
    ),
    (r"(.+) is a number too large to be right\.", lambda m: f"{_about(m[1])}过大，不可能正确。"),
    (
        r"(.+?) is (.+), but should be (.+?)( \([a-z].+\))?\.",
        lambda m: f"{_about(m[1])}是{_kind(m[2])}，应为{_kind(m[3])}{m[4] or ''}。",
    ),
    (
        r"(.+?) is (.+?)(?: at (\[.+\]))?; it should be (.+)\.",
        lambda m: (
            f"{_about(m[1])}{f'在 {m[3]} 处' if m[3] else ''}是 {m[2]}，应为 {m[4]}。"
        ),
    ),
    (
        r"(.+?) is (.+?)(?: at (\[.+\]))?, which is not right\.",
        lambda m: f"{_about(m[1])}{f'在 {m[3]} 处' if m[3] else ''}是 {m[2]}，不正确。",
    ),
    (
        r"Every number has the wrong sign, and is right apart from that\.",
        lambda m: "所有数的符号都反了，其余正确。",
    ),
    (r"Every number is twice what it should be\.", lambda m: "所有数都是正确值的两倍。"),
    (r"Every number is half of what it should be\.", lambda m: "所有数都是正确值的一半。"),
    (
        r"(.+), graded by a person: (\S+) points\.(.*)",
        lambda m: f"{m[1]}，人工评分：{m[2]} 分。{m[3].strip()}",
    ),
    (
        r"With what a person graded: (\S+) points in all\.",
        lambda m: f"加上人工评分，共 {m[1]} 分。",
    ),
    (
        r"(At most )?(\d+) days? late(, free|, counts nothing)?: (\S+) of (\S+) points count\.",
        lambda m: (
            f"{'最多' if m[1] else ''}迟交 {m[2]} 天{'（不扣分）' if m[3] == ', free' else ''}："
            f"{m[5]} 分中计入 {m[4]} 分。"
        ),
    ),
    (
        r"The submission of (.+) counts for your group: (\S+) points\.",
        lambda m: f"你所在小组以 {m[1]} 的提交计分：{m[2]} 分。",
    ),
    (
        r"No notebook \(a file that ends in \.ipynb\) was handed in\."
        r"(?: What was handed in: (.+?)\.)?( Of archives, only zips are unpacked\.)?"
        r"( A zip in a zip is not unpacked\.)?",
        lambda m: (
            "没有提交笔记本（扩展名为 .ipynb 的文件）。"
            f"{f'提交的是：{m[1]}。' if m[1] else ''}"
            f"{'压缩文件中只有 zip 会被解压。' if m[2] else ''}"
            f"{'zip 里的 zip 不会被解压。' if m[3] else ''}"
        ),
    ),
]  # fmt: skip
SENTENCES = [(re.compile(pattern, re.DOTALL), translate) for pattern, translate in _RULES]
"""The first pattern that fits a whole text gives its translation."""
