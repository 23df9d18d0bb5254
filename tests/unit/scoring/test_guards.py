import pytest

from clearcall.scoring.alignment import compare
from clearcall.scoring.guards import FRAGMENT_GUARDS, TURN_GUARDS, Guard
from clearcall.scoring.types import Flag

GUARDS: dict[str, Guard] = {**FRAGMENT_GUARDS, **TURN_GUARDS}


def flags(guard: str, said: str, cleaned: str) -> list[Flag]:
    return list(GUARDS[guard](compare(cleaned, said)))


def seen(guard: str, said: str, cleaned: str) -> list[tuple[str, str, str]]:
    """Reason, and the words at the places in both texts."""
    found = []
    for flag in flags(guard, said, cleaned):
        assert flag.guard == guard
        assert flag.cleaned is not None
        assert flag.source is not None
        found.append((flag.reason, cleaned[slice(*flag.cleaned)], said[slice(*flag.source)]))
    return found


def test_a_changed_number_is_shown_as_said_and_as_written_with_both_places() -> None:
    said = "uh your total comes to one hundred and forty dollars"
    assert seen("number", said, "Your total comes to $104.") == [
        ("said 140, wrote 104", "$104", "one hundred and forty")
    ]


@pytest.mark.parametrize(
    ("said", "cleaned"),
    [
        ("it is five five five one two three four", "It is 555-1243."),
        ("it is twenty nineteen", "It is 2091."),
        ("three dollars and fifty cents", "$350"),
        ("i have three kids", "I have kids."),
        ("i have kids", "I have three kids."),
        ("on march third", "On March 4th."),
        ("fifteen percent", "50%"),
        ("five five one two", "512"),
        ("no it is thirty", "No, it is."),
    ],
)
def test_a_number_that_is_changed_added_or_dropped_is_flagged(said: str, cleaned: str) -> None:
    assert flags("number", said, cleaned)


@pytest.mark.parametrize(
    ("said", "cleaned"),
    [
        ("it is five five five one two three four", "It is 555-1234."),
        ("it's about three three hundred dollars", "It's about $300."),
        ("you have fifteen minutes to compl- fifteen seconds to complete it", "You have 15 seconds to complete it."),
        ("sixty to seventy percent", "60-70%"),
        ("three fifty", "$3.50"),
        ("but this one is uh she's here", "But she's here."),
        ("march third", "March 3rd"),
        ("two two tablespoons", "2 tablespoons"),
        ("a hundred and sixty no sorry a hundred and forty nine pounds", "£149"),
        ("the thirty no the forty five thousand mile service", "The 45,000-mile service."),
        ("ninety four pounds sixty", "£94.60"),
    ],
)
def test_a_number_in_another_form_or_said_again_in_a_restart_is_no_change(said: str, cleaned: str) -> None:
    assert flags("number", said, cleaned) == []


def test_a_dropped_negation_is_shown_with_both_places() -> None:
    assert seen("negation", "i don't have the part", "I do have the part.") == [("said don't, wrote do", "", "n't")]


@pytest.mark.parametrize(
    ("said", "cleaned"),
    [
        ("i have it", "I don't have it."),
        ("i have it", "I never have it."),
        ("it is not covered", "It is covered."),
        ("you can go without a receipt", "You can go with a receipt."),
        ("i can do that", "I can't do that."),
    ],
)
def test_a_negation_added_or_dropped_is_flagged(said: str, cleaned: str) -> None:
    assert flags("negation", said, cleaned)


@pytest.mark.parametrize(
    ("said", "cleaned"),
    [
        ("i do not have it", "I don't have it."),
        ("i can not go", "I can't go."),
        ("i wouldn't uh i definitely wouldn't dispute that", "I definitely wouldn't dispute that."),
        ("she's not she's not feeling great", "She's not feeling great."),
        ("suffix b no d for delta", "Suffix D for delta."),
    ],
)
def test_a_contraction_or_a_restart_is_no_change_of_negation(said: str, cleaned: str) -> None:
    assert flags("negation", said, cleaned) == []


@pytest.mark.parametrize(
    ("said", "cleaned", "word"),
    [
        ("this is robert speaking", "This is Richard speaking.", "Richard"),
        ("robert speaking", "Richard speaking.", "Richard"),
        ("i drive a car", "I drive a Honda car.", "Honda"),
    ],
)
def test_a_capitalised_word_that_was_not_said_is_flagged_at_its_place(said: str, cleaned: str, word: str) -> None:
    assert [place for _, place, _ in seen("capitalised_new_word", said, cleaned)] == [word]


@pytest.mark.parametrize(
    ("said", "cleaned"),
    [
        ("this is robert from happy valley", "This is Robert from Happy Valley."),
        ("you send me one", "Can you send me one?"),
        ("i think so", "I THINK SO"),
        ("it's on the pod squad", "It's on the PodSquad."),
    ],
)
def test_case_alone_and_a_common_word_at_the_start_are_no_new_names(said: str, cleaned: str) -> None:
    assert flags("capitalised_new_word", said, cleaned) == []


def test_two_words_that_were_not_said_are_flagged_and_named() -> None:
    assert seen("new_words", "i lost my card", "I lost my shiny wallet card.") == [
        ("wrote 2 words that were not said: shiny, wallet", "shiny wallet", "")
    ]


@pytest.mark.parametrize(
    ("said", "cleaned"),
    [
        ("i have order your card", "I have ordered your card."),
        ("what you doing there", "What are you doing there?"),
        ("my check book is lost", "My checkbook is lost."),
        ("its mine", "It's mine."),
        ("he has gone", "He's gone."),
    ],
)
def test_a_small_repair_is_tolerated(said: str, cleaned: str) -> None:
    assert flags("new_words", said, cleaned) == []


def test_one_new_word_here_and_one_far_away_are_not_counted_together() -> None:
    said = " ".join(f"w{'abcdefghijklmnopqrstuvwxyz'[n]}q" for n in range(26))
    words = said.split()
    assert flags("new_words", said, " ".join(["fresh", *words, "novel"])) == []
    assert flags("new_words", said, " ".join(["fresh", *words[:10], "novel", *words[10:]]))


def test_a_dropped_sentence_is_shown_as_it_was_said() -> None:
    said = "so your total is here and i am afraid we are out of the part you wanted okay"
    assert seen("coverage", said, "So your total is here, okay?") == [
        (
            "dropped: and i am afraid we are out of the part you wanted",
            "",
            "and i am afraid we are out of the part you wanted",
        )
    ]


@pytest.mark.parametrize(
    ("said", "cleaned"),
    [
        ("you don't see what you don't you can't know what you don't see", "You can't know what you don't see."),
        ("well you know i mean uh like basically it works", "It works."),
        ("on the left hand side no sorry on the right hand side", "On the right-hand side."),
        ("six six oh one four one sev seven", "Six six oh, one four one seven."),
        ("uh", ""),
        ("well", ""),
        ("", ""),
    ],
)
def test_fillers_and_restarts_may_go(said: str, cleaned: str) -> None:
    assert flags("coverage", said, cleaned) == []


@pytest.mark.parametrize(("said", "cleaned"), [("yes", ""), ("yes please", "Okay."), ("uh huh", ""), ("yeah", "Okay.")])
def test_a_turn_of_which_nothing_is_left_is_flagged(said: str, cleaned: str) -> None:
    assert [flag.reason for flag in flags("coverage", said, cleaned)] == ["nothing that was said is there"]


def test_sentences_that_changed_places_are_flagged() -> None:
    said = "i will call you tomorrow and then we order the part"
    assert flags("order", said, "And then we order the part. I will call you tomorrow.")
    assert flags("order", said, "I will call you tomorrow, and then we order the part.") == []


def test_a_moved_word_is_shown_at_both_places() -> None:
    (flag,) = flags("order", "john called mary", "Called John, Mary.")
    assert flag.reason == "moved: Called"
    assert flag.source == (5, 11)


def test_guards_of_very_long_turns_stay_within_bounds() -> None:
    said = " ".join(f"word{number % 977} thing{number % 31}" for number in range(12_000))
    cleaned = said.replace("word7 ", "").replace("word11 thing", "word11 not thing")
    assert flags("negation", said, cleaned)
    assert flags("order", said, said) == []
