"""The walk phase between holders: tokens hop from holder to holder until every walk has ended."""
