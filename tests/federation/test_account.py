"""The account of a federated run outlives the server."""

from pathlib import Path

from fedwalk.federation.account import Account


def test_an_account_is_read_back_as_it_was(tmp_path: Path) -> None:
    account = Account("run", {"ann": 3, "ben": 2})
    account.lose("ben", "vectors", "NaN", refused=True)
    account.refused_by_holders.update({"replayed": 3, "malformed": 1})
    account.refused_by_holders.update({"replayed": 1})
    account.refused_at_the_door.update({"too large": 2})
    account.walks.finished, account.wire.bytes = 7, 9
    account.save(tmp_path / "account.json")
    again = Account.load(tmp_path / "account.json")
    assert again == account
    assert again.as_dict() == account.as_dict()
    assert again.as_dict()["refused_by_holders"] == {"replayed": 4, "malformed": 1}
    assert again.living() == ["ann"]
