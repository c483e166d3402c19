"""Profiles as the providers document them, as far as they are read."""

from __future__ import annotations

from flask_records.authentication.providers import Profile

GOOGLE = {
    "iss": "https://accounts.google.com",
    "sub": "10769150350006150715113082367",
    "email": "jsmith@example.com",
    "email_verified": True,
    "name": "Jane Smith",
    "picture": "https://lh3.googleusercontent.com/a/AItbvmm=s96-c",
}

GITHUB = {
    "login": "octocat",
    "id": 583231,
    "avatar_url": "https://avatars.githubusercontent.com/u/583231?v=4",
    "name": "The Octocat",
    "email": "octocat@github.com",
}

GITLAB = {
    "sub": "1574083",
    "name": "Ada Lovelace",
    "preferred_username": "ada",
    "email": "ada@example.com",
    "email_verified": True,
    "picture": "https://gitlab.com/uploads/-/system/user/avatar/1574083/avatar.png",
}

MICROSOFT = {
    "iss": "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
    "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
    "tid": "9188040d-6c67-4c5b-b112-36a304b66dad",
    "oid": "00000000-0000-0000-66f3-3332eca7ea81",
    "name": "Abe Lincoln",
    "preferred_username": "AbeLi@microsoft.com",
    "email": "AbeLi@microsoft.com",
    "picture": "https://graph.microsoft.com/v1.0/me/photo/$value",
}

APPLE = {
    "iss": "https://appleid.apple.com",
    "sub": "001234.0fd5b8b7e1d04a1fa1d7cd3e4f5a6b7c.1234",
    "email": "x7k2p9@privaterelay.appleid.com",
    "email_verified": "true",
}

FACEBOOK = {
    "id": "10160028394756123",
    "name": "Ada Lovelace",
    "email": "ada@example.com",
    "picture": {
        "data": {
            "height": 50,
            "is_silhouette": False,
            "url": "https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=1",
            "width": 50,
        }
    },
}

DISCORD = {
    "id": "80351110224678912",
    "username": "nelly",
    "global_name": "Nelly",
    "avatar": "8342729096ea3675442027381ff50dfe",
    "verified": True,
    "email": "nelly@discord.com",
}

LINKEDIN = {
    "sub": "782bbtaQ",
    "name": "John Doe",
    "picture": "https://media.licdn-ei.com/dms/image/profile-displayphoto/0/",
    "email": "doe@email.com",
    "email_verified": True,
}

SLACK = {
    "ok": True,
    "sub": "U0R7JM",
    "https://slack.com/user_id": "U0R7JM",
    "https://slack.com/team_id": "T0R7GR",
    "email": "krane@slack-corp.com",
    "email_verified": True,
    "name": "krane",
    "picture": "https://secure.gravatar.com/krane.png",
}

SPOTIFY = {
    "display_name": "JM Wizzler",
    "email": "email@example.com",
    "id": "wizzler",
    "images": [
        {"height": 300, "url": "https://i.scdn.co/image/ab67757300", "width": 300},
        {"height": 64, "url": "https://i.scdn.co/image/ab67757064", "width": 64},
    ],
}

TWITCH = {
    "data": [
        {
            "id": "141981764",
            "login": "twitchdev",
            "display_name": "TwitchDev",
            "profile_image_url": "https://static-cdn.jtvnw.net/dev-300x300.png",
            "email": "not-real@email.com",
        }
    ]
}

X = {
    "data": {
        "id": "2244994945",
        "name": "X Dev",
        "username": "TwitterDev",
        "profile_image_url": "https://pbs.twimg.com/profile_images/1283786/x_normal.jpg",
    }
}

PROFILES = {
    "google": (
        GOOGLE,
        Profile(
            "10769150350006150715113082367",
            "jsmith@example.com",
            "Jane Smith",
            "https://lh3.googleusercontent.com/a/AItbvmm=s96-c",
        ),
    ),
    "github": (
        GITHUB,
        Profile(
            "583231",
            "octocat@github.com",
            "The Octocat",
            "https://avatars.githubusercontent.com/u/583231?v=4",
        ),
    ),
    "gitlab": (
        GITLAB,
        Profile(
            "1574083",
            "ada@example.com",
            "Ada Lovelace",
            "https://gitlab.com/uploads/-/system/user/avatar/1574083/avatar.png",
        ),
    ),
    "microsoft": (
        MICROSOFT,
        Profile("AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ", name="Abe Lincoln"),
    ),
    "apple": (APPLE, Profile(APPLE["sub"], "x7k2p9@privaterelay.appleid.com")),
    "facebook": (
        FACEBOOK,
        Profile(
            "10160028394756123",
            "ada@example.com",
            "Ada Lovelace",
            "https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=1",
        ),
    ),
    "discord": (
        DISCORD,
        Profile(
            "80351110224678912",
            "nelly@discord.com",
            "Nelly",
            "https://cdn.discordapp.com/avatars/80351110224678912/"
            "8342729096ea3675442027381ff50dfe.png",
        ),
    ),
    "linkedin": (
        LINKEDIN,
        Profile(
            "782bbtaQ",
            "doe@email.com",
            "John Doe",
            "https://media.licdn-ei.com/dms/image/profile-displayphoto/0/",
        ),
    ),
    "slack": (
        SLACK,
        Profile(
            "T0R7GR/U0R7JM",
            "krane@slack-corp.com",
            "krane",
            "https://secure.gravatar.com/krane.png",
        ),
    ),
    "spotify": (
        SPOTIFY,
        Profile(
            "wizzler", name="JM Wizzler", avatar="https://i.scdn.co/image/ab67757300"
        ),
    ),
    "twitch": (
        TWITCH,
        Profile(
            "141981764",
            "not-real@email.com",
            "TwitchDev",
            "https://static-cdn.jtvnw.net/dev-300x300.png",
        ),
    ),
    "x": (
        X,
        Profile(
            "2244994945",
            name="X Dev",
            avatar="https://pbs.twimg.com/profile_images/1283786/x_normal.jpg",
        ),
    ),
}
"""Profiles as providers document them, and the users that they become."""
