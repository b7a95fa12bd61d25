"""The cues of speech by which `reactions.py` goes: how people take an answer, and how agents own up to a failure.

They are matched against sentences in lower case with contractions opened ("doesn't" is "does not"), marks apart.
"""

import re

from acumen.model.patterns import later


def _cues(*groups: str) -> re.Pattern[str]:
    """A line of a group is one pattern; any of them will do."""
    lines = (line.strip() for group in groups for line in group.splitlines())
    return later("|".join(f"(?:{line})" for line in lines if line))


def _words(text: str) -> str:
    """One of these words."""
    return rf"\b(?:{'|'.join(text.split())})\b"


# --- the user wants a person, or gives up --------------------------------------------------------------------------

_PERSON = _words(
    "human person people someone somebody representative rep manager supervisor staff operator colleague employee "
    "advisor agent"
)
_PUT_THROUGH = _words("connect transfer put pass hand refer get give send find")
WANTS_PERSON = _cues(
    rf"""
    \b(?:talk|speak|chat) (?:to|with)\b(?! my\b).{{0,40}}{_PERSON}
    {_PUT_THROUGH} me\b.{{0,40}}{_PERSON}
    \b(?:real|actual|live) (?:person|human|agent)\b
    \bhuman ,? ?please\b
    \bescalate (?:this|it)\b
    \bnot (?:with |to )?a (?:ro)?bot\b
    """
)

_ALONE = _words("myself ourselves elsewhere manually") + r"|\bby hand\b"
_ELSEWHERE = _words("else another other shop store hotline instead")
GIVES_UP = _cues(
    rf"""
    \bforget (?:it|about it)\b
    \bforget that\W*$
    \bnever ?mind\b
    \b(?:give|giving|gave) up\b
    \b(?:i am|we are) done (?:with|here)\b
    \b(?:i|we) (?:will|would|am|are|had|better|rather|can)\b.{{0,60}}(?:{_ALONE})
    \b(?:i|we) (?:(?:will|would|had) )?(?:better|rather) (?:use|ask|go|try|call|do|look)\b
    \bi will (?:just )?(?:go|call|ask|try|use|look|find|buy|take)\b.{{0,30}}{_ELSEWHERE}
    ^(?:just )?(?:stop|leave it|whatever)\W*$
    \bnot worth (?:it|the)\b
    \bwaste of (?:my )?time\b
    """
)

# --- the user says that the agent was wrong ------------------------------------------------------------------------

_WHAT_WAS_DONE = r"(?:that|this|these|those)"
_IS = r"(?:is|was|are|were)"
MEANT_OTHERWISE = _cues(
    rf"""
    \bi (?:have |had |just |already |clearly |only )*(?:said|told|asked|meant|wrote|mentioned|specified|ordered)\b
    \bnot what (?:i|we)\b
    \b(?:it|you|{_WHAT_WAS_DONE}) {_IS} (?:\w+ )?(?:wrong|incorrect|false)\b
    \b{_IS} not (?:quite )?(?:correct|right|true)\b
    ^(?:that is )?(?:wrong|incorrect)\b
    ^(?:but |and )?{_WHAT_WAS_DONE} {_IS} not\b(?! (?:a problem|bad|urgent|important))
    \byou (?:have )?(?:misunderstood|misread|ignored|forgot|missed|mixed|confused)\b
    \byou (?:have )?(?:used the wrong|got .{{0,20}}wrong)\b
    \byou (?:should|could|might|ought to) (?:at least |really |not )*have (?!a\b|the\b|your\b|it\b)
    \byou keep \w+ing\b
    ^(?:and |please |but )?(?:do not|never) ever\b
    \bnone of (?:these|those|them)\b
    \bread (?:it|that|my \w+) again\b
    \bwrong (?:one|file|tool|answer|number|order|again)\b
    \b{_WHAT_WAS_DONE} (?:does|did) not answer\b
    \bwhat i (?:actually )?(?:meant|asked|wanted)\b.{{0,10}}{_IS}\b
    """
)
# "Friday, not Saturday"; "not the web, the log"; "instead of the web".
PUTS_AWAY = _cues(
    r"""
    [,;.!] (?:and )?not (\w[^,.!?;]{0,40})
    ^not (\w[^,.!?;]{0,40})[,;]
    \binstead of (\w.{0,40})
    """
)
_HARMLESS_NO = r"(?! (?:problem|worries|way|need|idea|thanks|rush|thank|one|matter))"
SAYS_NO = later(rf"^(?:no|nope|nah|wait|hold on|stop)\b{_HARMLESS_NO}")
# "Actually we moved it"; but not "actually I have another question".
PUTS_RIGHT = later(
    r"^(?:no ,? |hm+ ,? |well ,? |oh ,? )*(?:actually|in fact) ,? ?"
    r"(?:it|that|this|they|he|she|we|our|my|the|i)\b(?! (?:have|want|need|would|like|think|am|can|could)\b)(?!.*\?)"
)
FLATLY_NO = later(r"^(?:nope|nah)\b")

# --- the user says that it does not work ---------------------------------------------------------------------------

_ASKING = r"(?:and |so )?(?:is|are|do|does|can|could|will|would|am|may)\b"
_DO = r"(?:did|does|(?:they|these|those|we|i) do|is|are|was|has|will|would|could|can)"
_CHANGE = r"(?:work|help|change|load|start|open|fix|solve|happen|appear|arrive)"
STILL_BROKEN = _cues(
    rf"""
    ^(?!{_ASKING}).*\bstill\b(?! (?:to|need|want|open|available|have (?:a|one|another|some)\b))
    \b{_DO} not (?:\w+ )?{_CHANGE}
    \bnot working\b
    \bno (?:difference|luck|effect|change|success|use)\b
    \bsame (?:error|problem|issue|result|again|as before)\b
    \bthe same thing\b
    \bthe same\W*$
    \bfail(?:s|ed|ing)? again\b
    \beven worse\b
    \bworse than\b
    \b(?:tried|did) (?:that|it|all|both|everything)\b
    \b(?:tried|done|did) this (?:already|before)\b
    ^(?:so )?(?:it|that|this) (?:does|did|is|was|has|will) not\b
    \b(?:that|this) is (?:exactly |precisely )?what i (?:did|tried|have)\b
    \bi (?:already )?know what\b
    \bi am (?:already )?on\b.{{0,20}}\balready\b
    """
)
# "It crashes", "that deletes everything": a report of what the answer does. Verbs that tell of a state do not count.
_STATES = _words(
    "is was has does works helps makes looks sounds answers fits seems depends gives comes solves matches starts "
    "covers explains needs runs belongs contains requires costs uses takes includes applies refers means stands "
    "wants likes lives goes feels suits reads"
)
REPORTS = later(
    r"^(?:but |and |now |then |well , )*(?P<subject>that|this|it|they|these) (?:just |only |now )?"
    rf"(?!{_STATES})(?:[a-z]{{2,}}s|crashed|broke|failed|deleted|removed)\b"
)
_HARSH = _words(
    "useless ridiculous terrible awful horrible unacceptable rubbish garbage nonsense hopeless pathetic dangerous "
    "bullshit wtf omg ffs"
)
DISPLEASED = _cues(
    rf"""
    {_HARSH}
    \b(?:frustrat|annoy|disappoint|unhelpful|infuriat)\w*
    \bseriously \?
    \bthanks for nothing\b
    \bno thanks to\b
    \bgreat , (?:another|now)\b
    \bthird time\b
    \bare you (?:kidding|serious|even)\b
    \byou (?:are not|do not|never) (?:listen|help|understand|read)\w*
    """
)
TRY_AGAIN = later(r"\b(?:try|look|check|run|do|read) (?:it |that |this )?(?:once more|again|one more time)\b")
PASTED_FAILURE = later(r"\b[A-Z]\w*(?:Error|Exception)\b|\bTraceback\b|(?i:\berror:)|\bexit code [1-9]")

# --- the user is content -------------------------------------------------------------------------------------------

WORKS = _cues(
    r"""
    (?<!not )(?<!never )\b(?:works|worked|working now)\b(?! (?:on|in|at|for|from|with|out|as)\b)
    \b(?:is|are|got it|now) working\b(?! (?:on|in|at|for|from|with|out|as)\b)
    (?:^|\b(?:is|was|are|got|been|it|that|this|problem|issue|all|now) )(?:fixed|solved|resolved|sorted)\b(?! by\b)
    \b(?:did the trick|was the (?:problem|issue|cause)|found it|i am in|is fine now|like a charm)\b
    ^(?!what|who|which|how).*\bwas it\W*$
    \b(?:are|is) green\b
    \b(?:passes|passing|loads|starts|compiles|builds|runs) (?:again|now|fine)\b
    """
)
THANKS = _cues(
    _words("thanks cheers gracias merci danke grazie obrigado obrigada appreciate appreciated") + "|thank you"
)
_FINE = _words(
    "perfect great excellent wonderful brilliant awesome amazing lovely nice cool fantastic superb exactly lgtm good "
    "super splendid neat sweet bravo alright beautiful yay hooray"
)
PRAISE = _cues(
    rf"""
    ^(?:\w+ ,? ?)?{_FINE}(?! (?:morning|evening|afternoon|day|to meet|question))
    ^(?:that is |quite )?(?:correct|right|true)\W*$
    \b(?:ship it|well done|good job|spot on|love it|looks (?:good|great|right)|sounds (?:good|great))\b
    \b(?:makes sense|understood|i see|that helps|helped|that answers|good to know|got it|see you)\b
    \b(?:what|all) i (?:wanted|needed)\b
    \ball (?:good|set|clear)\b
    \b(?:see|clear) now\b
    ^(?:yes|yep) ?!?$
    ^(?:yes|ok) ,? (?:fine|thanks)\b
    """
)
GLAD = later("[👍🙏🎉❤😊✅😀🙂👏💯]")
ONLY_POLITE = later(r"\b(?:thanks|thank you) (?:anyway|any way|though|all the same)\b|\bthanks ,? but\b")

# --- questions and orders ------------------------------------------------------------------------------------------

QUESTION = later(r"\?\s*$")
_BEGIN = r"^(?:and |so |then |but |also |ok |now )*"
ORDERS = _cues(
    rf"""
    {_BEGIN}(?:what|how|why|when|where|which|who|can|could|would|will|should|do|does|did|is|are|may|shall)\b
    {_BEGIN}(?:please|let us|make|add|show|tell|give|change|remove|send|book|find|write|use|put|run|open|fix)\b
    """
)

# --- the agent owns up ---------------------------------------------------------------------------------------------

_STAFF = _words(
    "human person colleague colleagues agent team specialist specialists department nurse doctor engineer engineers "
    "representative representatives manager managers support staff technician technicians expert supervisor office "
    "on-call"
)
_HAND = (
    r"\b(?:transfer(?:r?ing|red)?|connect(?:ing|ed)?|hand(?:ing|ed)?|forward(?:ing|ed)?|pass(?:ing|ed)?|"
    r"escalat(?:e|ed|ing)|rout(?:ing|ed)|redirect(?:ing|ed)?|refer(?:ring|red)?|put(?:ting)?)\b"
)
_TAKE_OVER = r"(?:take (?:over|it|this)|get (?:back|in touch)|contact|call|reach|look into|follow up)"
HANDS_OVER = _cues(
    rf"""
    {_HAND}.{{0,60}}\b(?:to|with|over|through|on)\b.{{0,40}}{_STAFF}
    \bpag(?:ed|ing)\b.{{0,30}}{_STAFF}
    {_STAFF}.{{0,40}}\b(?:will|is going to|can) {_TAKE_OVER}\b
    \bescalat(?:ed|ing) (?:this|your|the)\b
    """
)
BREAKS = _cues(
    r"""
    \btim(?:ed|e)[ -]?outs?\b
    \b(?:is|was|are) (?:currently |temporarily )?(?:unavailable|down|not available)\b
    \binternal (?:server )?error\b
    \b(?:error|failure) (?:occurred|again)\b
    \bsame error\b
    \bcrash(?:ed|es)\b
    \b(?:failed|fails|refused)\b
    \bcould not (?:reach|connect|run|complete|load|be (?:made|done|reached))\b
    \b(?:does|do|did) not (?:answer|respond|reply)\b
    \btry again (?:later|tomorrow|in)\b
    \bsomething went wrong\b
    """
)
# A failure of the agent's own, and not one that it reports of something else.
OF_ITS_OWN = later(r"\b(?:i|we|my|our|sorry|unfortunately|afraid|please|service|system)\b")
# "The build failed because of X. I fixed it": no admission, but a report of work that is done.
CLAIMS_DONE = _cues(
    r"""
    \b(?:done|fixed|solved|resolved|succeeded|works|passes|pass) ?(?:now|again)?\b
    \bi (?:have )?(?:fixed|added|changed|updated|corrected|replaced|restarted|removed|installed)\b
    \b(?:is|are) (?:now )?(?:back|ready|up|running)\b
    """
)
_KNOWLEDGE = r"(?:information|records?|results?|data|values?|entry|entries|match(?:es)?|trace|order|mention)"
_HOLDS = r"(?:found|finds?|shows?|returned|returns|there (?:is|are|was)|contains?|lists?|have|has|see)"
FINDS_NOTHING = _cues(
    rf"""
    \b(?:could|can|did|do) not (?:find|see|locate)\b
    \b{_HOLDS} (?:nothing|no (?:\w+ ){{0,2}}{_KNOWLEDGE})\b
    \bnothing (?:was |is )?(?:found|there|about)\b
    \bno {_KNOWLEDGE} (?:was |were |is |are )?(?:found|available|about|for)\b
    """
)
IS_UNABLE = _cues(
    r"""
    \bi (?:\w+ )?(?:can not|am not able|am unable|do not have|have no|lack|am not allowed|am not permitted)\b
    \bi can only\b
    \b(?:unfortunately|sorry)\b.{0,40}\b(?:not possible|not supported|can not)\b
    \bno (?:access|tool|permission) (?:to|for)\b
    """
)
TOOL_FAILED = later(
    r"fail|error|exception|time.?out|timed|denied|refused|reject|unavailable|abort|crash|invalid|^(?:4|5)\d\d$|^false$",
    re.IGNORECASE,
)
