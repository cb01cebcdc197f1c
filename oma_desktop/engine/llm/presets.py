"""Known services: what they speak, address, key variable (engine.md 8.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

DEFAULT_PROVIDER: Final = "anthropic"
SCRIPTED: Final = "scripted"


Protocol: TypeAlias = Literal["openai", "anthropic", "azure-openai"]


@dataclass(frozen=True, slots=True)
class Preset:
    """One service. `needs_key` is False for servers on the own machine.

    `echo_reasoning`: it wants its own reasoning back as `reasoning_content` (engine.md 8.2).
    `protocol`: what it speaks: chat completions, messages, or Azure's form of the first. The
    address of an Azure resource is nobody else's, so its preset has none. `streams`: answers are
    asked for in pieces.
    """

    id: str
    base_url: str
    key_env: tuple[str, ...] = ()
    base_url_env: str | None = None
    needs_key: bool = True
    echo_reasoning: bool = False
    protocol: Protocol = "openai"
    streams: bool = True
    version_env: str | None = None
    deployment_env: str | None = None

    def resolved_base_url(self, environ: Mapping[str, str]) -> str:
        """Return the address, from the environment when it names one."""
        named = environ.get(self.base_url_env, "").strip() if self.base_url_env else ""
        return named or self.base_url


def _hosted(
    id_: str,
    base_url: str,
    *key_env: str,
    base_url_env: str | None = None,
    echo_reasoning: bool = False,
) -> Preset:
    return Preset(id_, base_url, key_env, base_url_env, echo_reasoning=echo_reasoning)


def _local(id_: str, port: int) -> Preset:
    return Preset(id_, f"http://127.0.0.1:{port}/v1", needs_key=False)


_ALL: Final = (
    # the peer's provider ids
    Preset(
        "anthropic",
        "https://api.anthropic.com",
        ("ANTHROPIC_API_KEY",),
        "ANTHROPIC_BASE_URL",
        protocol="anthropic",
    ),
    _hosted(
        "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", base_url_env="OPENAI_BASE_URL"
    ),
    Preset(
        "azure-openai",
        "",
        ("AZURE_OPENAI_API_KEY",),
        "AZURE_OPENAI_ENDPOINT",
        protocol="azure-openai",
        version_env="AZURE_OPENAI_API_VERSION",
        deployment_env="AZURE_OPENAI_DEPLOYMENT",
    ),
    _hosted("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", echo_reasoning=True),
    _hosted("grok", "https://api.x.ai/v1", "XAI_API_KEY"),
    _hosted("doubao", "https://ark.cn-beijing.volces.com/api/v3", "ARK_API_KEY"),
    _hosted(
        "hunyuan",
        "https://tokenhub.tencentmaas.com/v1",
        "HUNYUAN_API_KEY",
        base_url_env="HUNYUAN_BASE_URL",
        echo_reasoning=True,
    ),
    _hosted(
        "minimax",
        "https://api.minimax.io/v1",
        "MINIMAX_API_KEY",
        base_url_env="MINIMAX_BASE_URL",
    ),
    _hosted(
        "mimo",
        "https://api.xiaomimimo.com/v1",
        "MIMO_API_KEY",
        base_url_env="MIMO_BASE_URL",
        echo_reasoning=True,
    ),
    _hosted("qiniu", "https://api.qnaigc.com/v1", "QINIU_API_KEY"),
    _hosted(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
    ),
    # further services
    _hosted("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    _hosted("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    _hosted("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    _hosted("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    _hosted("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    _hosted("moonshot", "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY", echo_reasoning=True),
    _hosted("qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    _hosted("zhipu", "https://open.bigmodel.cn/api/paas/v4", "ZHIPU_API_KEY", "ZAI_API_KEY"),
    _hosted("siliconflow", "https://api.siliconflow.cn/v1", "SILICONFLOW_API_KEY"),
    # servers on the own machine, at their usual ports
    _local("ollama", 11434),
    _local("llama.cpp", 8080),
    _local("vllm", 8000),
    _local("lmstudio", 1234),
)

PRESETS: Final[Mapping[str, Preset]] = {preset.id: preset for preset in _ALL}
