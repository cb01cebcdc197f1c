"""Sentences about model endpoints: what was asked, what came back, what to do."""

from __future__ import annotations

from typing import Final

from oma_desktop.base.text import N_, Sentence

SENTENCES: Final[dict[str, Sentence]] = {
    "LLM_CALL_ABORTED": Sentence(
        N_("The call to the model was stopped."),
        N_("It was stopped on request; what was saved before it is kept."),
    ),
    "LLM_UNREACHABLE": Sentence(
        N_("No connection to the model service {provider} at {origin} ({problem})."),
        N_("Everything committed so far is kept."),
        N_("Check the address, the network and the proxy settings, then resume the run."),
    ),
    "LLM_HOST_UNKNOWN": Sentence(
        N_("No machine has the name in {origin}, the address of {provider}."),
        N_("Nothing was sent; everything committed so far is kept."),
        N_("Check the spelling of the address and the network, then resume the run."),
    ),
    "LLM_CONNECTION_REFUSED": Sentence(
        N_("Nothing listens at {origin}, the address of {provider}."),
        N_("Nothing was sent; everything committed so far is kept."),
        N_("Start the server, or check host and port of the address."),
    ),
    "LLM_CONNECT_TIMEOUT": Sentence(
        N_("{origin}, the address of {provider}, did not take the connection in time."),
        N_("Nothing was sent; everything committed so far is kept."),
        N_("Check the address, the network and the proxy settings, then resume the run."),
    ),
    "LLM_NO_ANSWER": Sentence(
        N_("{provider} at {origin} took the question and gave no answer for {seconds} seconds."),
        "",
        N_("Try a smaller model, or look at what the server is doing."),
    ),
    "LLM_TLS_UNTRUSTED": Sentence(
        N_("The certificate of {origin} ({provider}) is not trusted: {problem}."),
        N_("No key and no data were sent."),
        N_("Name the certificates to trust in SSL_CERT_FILE, or correct the address."),
    ),
    "LLM_TLS_FAILED": Sentence(
        N_("{origin} ({provider}) does not speak TLS as it should: {problem}."),
        N_("No key and no data were sent."),
        N_("Check whether the address should begin with http://, and its port."),
    ),
    "LLM_PROXY_REFUSED": Sentence(
        N_("The proxy {proxy} does not let requests through to {origin}: {problem}."),
        N_("Nothing was sent to {provider}; everything committed so far is kept."),
        N_("Correct the name and password in HTTPS_PROXY, or name the host in NO_PROXY."),
    ),
    "LLM_PROXY_UNREACHABLE": Sentence(
        N_("No connection to the proxy {proxy} on the way to {provider} ({problem})."),
        N_("Nothing was sent; everything committed so far is kept."),
        N_("Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name the host in NO_PROXY."),
    ),
    "LLM_STALLED": Sentence(
        N_("The model service {provider} stopped sending."),
        N_("The unfinished answer was not used; everything committed so far is kept."),
        N_("Resume the run when the service answers again."),
    ),
    "LLM_STREAM_CUT": Sentence(
        N_("The answer of {provider} broke off before its end."),
        N_("The unfinished answer was not used and none of its tool calls ran."),
        N_("Run the task again or resume the run."),
    ),
    "LLM_BAD_STREAM": Sentence(
        N_("{provider} sent something that is no answer of a model."),
        N_("The unfinished answer was not used and none of its tool calls ran."),
        N_("Check that address and type of the provider belong together."),
    ),
    "LLM_EVENT_TOO_LONG": Sentence(
        N_("{provider} sent a single event of more than {limit} bytes."),
        N_("The answer was not used; everything committed so far is kept."),
        N_("Check that address and type of the provider belong together."),
    ),
    "LLM_EMPTY_REPLY": Sentence(
        N_("{provider} answered without any content."),
        N_("Nothing was used from it; everything committed so far is kept."),
        N_("Resume the run to ask again."),
    ),
    "LLM_STREAM_ERROR": Sentence(
        N_("{provider} reported an error in the middle of its answer: {message}"),
        N_("The unfinished answer was not used and none of its tool calls ran."),
        N_("Run the task again or resume the run."),
    ),
    "LLM_NOT_A_STREAM": Sentence(
        N_("The address of {provider} shows a web page ({found}) instead of a model's answer."),
        "",
        N_("Check the base URL; it usually ends in /v1."),
    ),
    "LLM_REDIRECTED": Sentence(
        N_("{provider} at {origin} wants to send the request on to {target}; it was not followed."),
        N_("Requests carry your key and your data, so they only go to the address you gave."),
        N_("If the new address is right, write it into the run file as baseURL."),
    ),
    "LLM_UNAUTHORIZED": Sentence(
        N_("{provider} refused the key (HTTP {status}): {message}"),
        "",
        N_("Check the key of {provider} and its rights for the model."),
    ),
    "LLM_NOT_FOUND": Sentence(
        N_("{provider} does not know the model {model} or the address (HTTP {status}): {message}"),
        "",
        N_("Check the model's name and the base URL."),
    ),
    "LLM_RATE_LIMITED": Sentence(
        N_("{provider} asks to slow down (HTTP {status}): {message}"),
        N_("Everything committed so far is kept."),
        N_("Wait, then resume the run; fewer tasks at a time (maxConcurrency) help."),
    ),
    "LLM_OVERLOADED": Sentence(
        N_("{provider} is overloaded (HTTP {status}): {message}"),
        N_("Everything committed so far is kept."),
        N_("Wait a while, then resume the run."),
    ),
    "LLM_SERVER_ERROR": Sentence(
        N_("{provider} failed (HTTP {status}): {message}"),
        N_("Everything committed so far is kept."),
        N_("Resume the run when the service works again."),
    ),
    "LLM_REFUSED": Sentence(
        N_("{provider} refused the request (HTTP {status}): {message}"),
        "",
        N_("The same request will be refused again; correct the agent's settings first."),
    ),
    "LLM_BAD_ENDPOINT": Sentence(
        N_("The address of {provider} cannot be used: {problem}."),
        "",
        N_("Give a baseURL like https://host/v1, without user name or fragment."),
    ),
    "LLM_ADDRESS_MISSING": Sentence(
        N_("Agent {agent} uses {provider}, and nothing says at which address it is."),
        "",
        N_("Set {variable} in the environment, or give the provider a baseURL."),
    ),
    "LLM_KEY_MALFORMED": Sentence(
        N_("The key of {provider} holds characters that no key has."),
        N_("It was not sent anywhere."),
        N_("Copy the key again, without line breaks."),
    ),
    "LLM_KEY_MISSING": Sentence(
        N_("Agent {agent} needs a key for {provider}, and there is none."),
        "",
        N_("Set {variables} in the environment, or store the key in the system's key store."),
    ),
    "LLM_PROXY_UNUSABLE": Sentence(
        N_("The proxy named in the environment cannot be used: {problem}"),
        N_("Nothing was sent."),
        N_("Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY."),
    ),
    "UNSUPPORTED_TOOL_CALL": Sentence(
        N_("The model asked for a kind of tool call this program does not know ({found})."),
        N_("Nothing ran."),
    ),
    "UNSUPPORTED_TOOL_RESULT_CONTENT": Sentence(
        N_("A tool result holds something this service cannot receive ({found})."),
        N_("The result itself is kept."),
        N_("Use a service that accepts it, or let the tool return text."),
    ),
    "INVALID_MESSAGE": Sentence(
        N_("The conversation cannot be sent: {problem} ({where})."),
        N_("Nothing was sent; the store is unchanged."),
        N_("The place names the message that is damaged."),
    ),
    "EGRESS_POLICY_DENIED": Sentence(
        N_("The egress policy does not let agent {agent} call {origin}."),
        N_("Nothing was sent there."),
        N_("Give the agent an address that is allowed, or change egressPolicy."),
    ),
    "EGRESS_POLICY_UNSUPPORTED": Sentence(
        N_("Agent {agent} uses a model that does not say where its calls go."),
        N_("With an egress policy such calls are refused; nothing was sent."),
        N_("Use a provider of the run file, or give its adapter `goes_to`."),
    ),
    "THINKING_BUDGET_INVALID": Sentence(
        N_("The thinking budget {budget} does not lie between {least} and {limit} tokens."),
        N_("Nothing was sent; the store is unchanged."),
        N_("Change thinking.budgetTokens, or allow more output with maxTokens."),
    ),
}
